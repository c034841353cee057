/* probe.h: what this machine lets a sandbox do, tried for real: every row comes
 * from a child process that did the thing and then attempted what must no
 * longer work. */
#ifndef WORKER_PROBE_H
#define WORKER_PROBE_H

#include <stdio.h>

/* Prints a line for each capability: NAME yes|no DETAIL. Returns 0. */
int probe_print(FILE *out);

/* The strongest box this machine allows: "full", "thin" or "none". */
const char *probe_box_level(void);

#endif
