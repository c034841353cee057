/* book_scale.h: the sizes that a program's placeholders (4) are replaced by. All of
 * a program become the same size, so that what must be equal stays equal. The
 * size goes by the rank of the inputs. If a program does not work with it, half
 * and a quarter of it are tried, and then the program as it is. */
#ifndef DATA_BOOK_SCALE_H
#define DATA_BOOK_SCALE_H

#include "base/json.h"
#include "data/book_convert.h"

#include <stdbool.h>
#include <stdint.h>

struct book_scale {
    bool begun;
    int64_t first, size; /* size 0: as it is */
    json_t *tried;       /* sizes that did not work, and why; owned */
};

/* What `p` is tried with first. Stays empty when it has no placeholder. */
void book_scale_init(struct book_scale *s, const struct book_program *p);
/* The next smaller one; false when none is left. */
bool book_scale_next(struct book_scale *s, const char *why);
/* For the manifest; a new reference. */
json_t *book_scale_json(const struct book_scale *s);

#endif
