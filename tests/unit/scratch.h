/* scratch.h: what tests make on the way. It is gone when their suite is over, so
 * no test has to clean up. What fails here ends the program. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

/* A new folder, in memory where that is possible. */
char *scratch_dir(void);
char *scratch_path(const char *dir, const char *name);
char *scratch_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The file's text. */
const char *scratch_read(const char *path);
/* Writes DIR/NAME, in folders that need not be there, and returns its path. */
char *scratch_put(const char *dir, const char *name, const char *text);

/* NULL takes it out of the environment, for good. Only one thread may run. */
void scratch_env(const char *name, const char *value);

/* For main.c. */
void scratch_end(void);

#endif
