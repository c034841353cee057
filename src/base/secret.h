/* secret.h: keeps the API keys and the database password of the environment out
 * of child processes and out of every text that is shown or stored. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

/* Our environment without the keys, NULL-terminated. The strings are borrowed; the
 * caller frees the array. */
const char **secret_free_env(void);
/* The text with every key in it replaced by "[key]"; the caller frees. */
char *secret_mask(const char *text);

#endif
