/* move_ptx.h: the kernel that moves data on a GPU, as text for the driver's
 * compiler. */
#ifndef RUNNER_MOVE_PTX_H
#define RUNNER_MOVE_PTX_H

#include "runner/walk.h"

/* Not a type of elements: the source is the number 0. */
#define MOVE_ZERO DTYPES

/* The kernel's only parameter. An element of the source, with `value` added where
 * it is an integer, becomes one of the destination: copies add 0, fills add to
 * MOVE_ZERO, counters have themselves as their source. */
struct move_params {
    uint64_t to, source; /* addresses */
    uint64_t value;
    uint64_t count;
    uint32_t to_kind, source_kind; /* enum dtype */
    uint32_t dims, unused;
    struct walk_dim dim[PLAN_DIMS];
};

/* Pieces of one text; NULL ends them. */
extern const char *const move_ptx_text[];
extern const char move_ptx_entry[];

#endif
