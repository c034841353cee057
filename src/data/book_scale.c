/* book_scale.c: which sizes are tried. */
#include "data/book_scale.h"

#include <string.h>

#define PLACEHOLDER 4
#define MOST_BYTES  ((int64_t)256 << 20) /* of all inputs, in fp32 */

/* By rank. Inputs have a million elements or so. A vector's size is often that
 * of a weight matrix, too: it is smaller where the constructor has sizes. */
static int64_t target(const struct book_program *p)
{
    static const int64_t by_rank[] = {0, 65536, 1024, 128, 32, 16};
    size_t most = sizeof(by_rank) / sizeof(by_rank[0]) - 1;

    if (p->rank == 1 && p->init_sizes)
        return 1024;
    return by_rank[p->rank < most ? p->rank : most];
}

static bool fits(const struct book_program *p, int64_t size)
{
    int64_t bytes = 4 * (int64_t)p->inputs;

    for (size_t i = 0; i < p->rank; i++) {
        if (bytes > MOST_BYTES / size)
            return false;
        bytes *= size;
    }
    return true;
}

void book_scale_init(struct book_scale *s, const struct book_program *p)
{
    if (!p->input_sizes)
        return;
    s->begun = true;
    s->size = target(p);
    while (s->size > PLACEHOLDER && !fits(p, s->size))
        s->size /= 2;
    if (s->size <= PLACEHOLDER)
        s->size = 0;
    s->first = s->size;
    s->tried = json_array();
}

bool book_scale_next(struct book_scale *s, const char *why)
{
    if (!s->begun || !s->size)
        return false;
    json_array_append_new(s->tried,
                          json_pack("{s:I, s:o}", "size", (json_int_t)s->size,
                                    "why", jsn_text(why, strlen(why))));
    s->size = s->size * 2 > s->first / 2 && s->size / 2 > PLACEHOLDER
                  ? s->size / 2
                  : 0;
    return true;
}

json_t *book_scale_json(const struct book_scale *s)
{
    return json_pack("{s:I, s:O}", "size",
                     (json_int_t)(s->size ? s->size : PLACEHOLDER), "tried",
                     s->tried);
}
