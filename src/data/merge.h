/* merge.h: byte pairs: a piece of text is merged into tokens. */
#ifndef DATA_MERGE_H
#define DATA_MERGE_H

#include "data/vocab.h"

#include <stddef.h>
#include <stdint.h>

/* Room for merging, kept between pieces. */
struct merge {
    struct merge_part *part;
    uint64_t *heap;
    uint32_t *id; /* the result */
    size_t part_cap, heap_cap, id_cap;
};

/* The tokens of p[0..n), n > 0: in m->id until the next call. Of the pairs of
 * neighbours that are a token together, the one with the lowest id is merged first,
 * the leftmost of equal ones. Takes n log n steps for long pieces. */
size_t merge_piece(struct merge *m, const struct vocab *v, const char *p,
                   size_t n);
void merge_release(struct merge *m);

#endif
