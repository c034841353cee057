/* memory.h: how much memory there is for candidates: the machine's, or what a
 * group that we are in leaves of it. */
#ifndef WORKER_MEMORY_H
#define WORKER_MEMORY_H

#include <stdint.h>

/* All that we could ever use: the same in every run on a machine. */
uint64_t memory_size(void);
/* What all children together may use: three quarters of what is free now. The
 * rest is the judge's, the zygotes' and everybody else's. */
uint64_t memory_for_children(void);

#endif
