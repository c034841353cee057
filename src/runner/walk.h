/* walk.h: the loops of a move in their simplest form: dimensions of one element
 * dropped, the destination's smallest stride innermost, neighbours that run on
 * without a gap joined. */
#ifndef RUNNER_WALK_H
#define RUNNER_WALK_H

#include "runner/plan.h"

struct walk {
    uint64_t count; /* elements; 0: nothing to do */
    unsigned dims;  /* 1 at least, the innermost first */
    struct walk_dim {
        uint64_t n;
        int64_t to, source; /* strides in bytes */
    } dim[PLAN_DIMS];
};

/* `source` may be NULL: its strides are 0. */
void walk_init(struct walk *w, const struct plan_place *to,
               const struct plan_place *source);

/* Both are one run of elements without gaps. */
bool walk_is_plain(const struct walk *w, size_t to_bytes, size_t source_bytes);

#endif
