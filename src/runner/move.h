/* move.h: copies, fills and counters. */
#ifndef RUNNER_MOVE_H
#define RUNNER_MOVE_H

#include "runner/program.h"

/* The loops of a move in their simplest form. Dimensions of size 1 are dropped, the
 * destination's smallest stride is innermost, and adjacent dimensions without a
 * gap are joined. */
struct walk {
    uint64_t count; /* elements; may be 0 */
    unsigned dims;  /* at least 1, innermost first */
    struct walk_dim {
        uint64_t n;
        int64_t to, source; /* strides in bytes */
    } dim[PROGRAM_DIMS];
};

/* `source` may be NULL: its strides are 0. */
void walk_init(struct walk *w, const struct program_place *to,
               const struct program_place *source);

/* Whether both are a single run of elements without gaps. */
bool walk_is_plain(const struct walk *w, size_t to_bytes, size_t source_bytes);

/* In this process's memory. */
void move_copy(char *region, const struct program_node *n);
void move_fill(char *region, const struct program_node *n);
void move_add(char *region, const struct program_node *n);

#endif
