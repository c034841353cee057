/* box_check.h: what this machine lets a sandbox do, tried for real: every row comes
 * from a child process that did the thing and then attempted what must no
 * longer work. */
#ifndef WORKER_BOX_CHECK_H
#define WORKER_BOX_CHECK_H

#include <stdbool.h>
#include <stdio.h>

/* Prints a line for each capability: NAME yes|no DETAIL. Returns 0. */
int box_check_print(FILE *out);

/* Whether this is root that can become another user. One without that right, or
 * in a user namespace that knows root alone, cannot. */
bool box_check_users(void);

/* The strongest box this machine allows: "full", "thin" or "none". */
const char *box_check_level(void);

#endif
