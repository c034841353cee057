/* move_ptx.h: the kernel that moves data on a GPU, as PTX for the driver's
 * compiler. */
#ifndef RUNNER_MOVE_PTX_H
#define RUNNER_MOVE_PTX_H

#include "runner/move.h"

/* Not an element type: the source is the number 0. */
#define MOVE_ZERO DTYPES

/* The kernel's only parameter. Each destination element is a source element,
 * plus `value` if it is an integer. Copies add 0, fills add to MOVE_ZERO, and
 * counters are their own source. */
struct move_params {
    uint64_t to, source; /* addresses */
    uint64_t value;
    uint64_t count;
    uint32_t to_kind, source_kind; /* enum dtype */
    uint32_t dims, unused;
    struct walk_dim dim[PROGRAM_DIMS];
};

/* Parts of one text, NULL-terminated. */
extern const char *const move_ptx_text[];
extern const char move_ptx_entry[];

#endif
