/* plausible.h: whether a measured time can be believed. A kernel whose time
 * cannot may still be right: it is marked with the reason, never hidden. */
#ifndef VERIFY_PLAUSIBLE_H
#define VERIFY_PLAUSIBLE_H

#include "base/arena.h"
#include "base/json.h"

/* Kernels that are more than so many times as fast as eager PyTorch deserve a
 * look: most of them skip work, or change the algorithm. */
#define PLAUSIBLE_SPEEDUP 10.0

/* What the memory of the GPU with this name, as its driver gives it, can move
 * in a second according to its maker; 0: not known. */
double plausible_bandwidth(const char *gpu);

/* Why the time in a record is hard to believe, in `a`; NULL: it is not, or
 * nothing was timed. */
const char *plausible_doubt(const json_t *record, struct arena *a);

#endif
