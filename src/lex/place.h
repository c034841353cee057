/* place.h: where an offset stands, for people: lines and columns from 1,
 * columns in characters. \n, \r\n and a lone \r each end a line, and a byte
 * order mark has no width. The walk only goes forwards, so that asking for
 * every token's place costs one pass over the source. */
#ifndef LEX_PLACE_H
#define LEX_PLACE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct place {
    size_t at;
    uint32_t line, column;
};

void place_init(struct place *p, struct str src);
/* Moves on to offset `at`; one that lies behind leaves the place as it is. */
static inline void place_to(struct place *p, struct str src, size_t at);

/* Bytes of the byte order mark at the start of `src`: 3 or 0. */
size_t place_bom(struct str src);
/* Length of the line end at `at`: 0 when there is none. */
size_t place_line_end(struct str src, size_t at);

/* The rest of place_to(), past what needs a closer look. */
void place_walk(struct place *p, struct str src, size_t at);

/* Here because every token asks, and most bytes only count. */
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
