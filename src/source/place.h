/* place.h: the line and column of an offset, for messages. Both count from 1;
 * columns count characters. \n, \r\n and a lone \r each end a line, and a byte
 * order mark has no width. A place only moves forwards, so locating every token
 * takes one pass over the source. */
#ifndef SOURCE_PLACE_H
#define SOURCE_PLACE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct place {
    size_t at;
    uint32_t line, column;
};

void place_init(struct place *p, struct str src);
/* Moves to offset `at`. Does nothing if the place is already past it. */
static inline void place_to(struct place *p, struct str src, size_t at);

/* Bytes of the byte order mark at the start of `src`: 3 or 0. */
size_t place_bom(struct str src);
/* Length of the line end at `at`, or 0. */
size_t place_line_end(struct str src, size_t at);

/* The slow path of place_to(). */
void place_walk(struct place *p, struct str src, size_t at);

/* Inline because it runs for every token, and most bytes only add a column. */
static inline void place_to(struct place *p, struct str src, size_t at)
{
    size_t stop = at < src.n ? at : src.n, i = p->at;

    while (i < stop && src.p[i] > '\r' && (src.p[i] & 0x80) == 0)
        i++;
    p->column += (uint32_t)(i - p->at);
    p->at = i;
    if (i < stop)
        place_walk(p, src, at);
}

#endif
