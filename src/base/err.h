/* err.h: one failure, reported once. A function that can fail takes `struct err *e`
 * last, fills it, and returns -1 or NULL. Callers add what they were doing with
 * err_wrap(). Nothing is allocated or printed here: only main.c reports errors. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

enum err_kind {
    ERR_NONE,
    ERR_USAGE,     /* the command line is wrong */
    ERR_INPUT,     /* a file or an answer is wrong */
    ERR_LIMIT,     /* one of our limits was reached */
    ERR_SYSTEM,    /* a system call failed: errno is in `sys` */
    ERR_BUDGET,    /* the user's budget is used up */
    ERR_INTERRUPT, /* the user asked us to stop */
};

struct err {
    enum err_kind kind;
    int sys; /* errno, or 0 */
    char text[1024];
};

#define ERR_INIT        \
    {                   \
        ERR_NONE, 0, "" \
    }

/* Each returns -1, so that `return err_set(…)` is the whole failure path. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Like err_set(), followed by the text of errno. */
int err_sys(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts "what we were doing: " in front of the text. */
int err_wrap(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* For what is closed after `rc`, and can fail too: the first failure counts. */
int err_late(struct err *e, int rc, int closed, const struct err *late);

/* The exit status for this kind of failure. */
int err_exit_status(const struct err *e);

#endif
