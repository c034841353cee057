/* secret.h: the API keys of the environment, and where they must not go: no
 * child's environment, no text that is shown or stored. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

/* Our environment without the keys: "NAME=value" borrowed from it, ends with
 * NULL; the caller frees the array. */
const char **secret_free_env(void);
/* The text with every key in it replaced by "[key]"; the caller frees. */
char *secret_mask(const char *text);

#endif
