/* walk.c: simplifies the loops of a move. */
#include "runner/walk.h"

#include <string.h>

/* Keeps the dimensions sorted by the destination's stride. */
static void walk_insert(struct walk *w, struct walk_dim d)
{
    unsigned i = w->dims++;

    for (; i > 0 && w->dim[i - 1].to > d.to; i--)
        w->dim[i] = w->dim[i - 1];
    w->dim[i] = d;
}

static void walk_join(struct walk *w)
{
    unsigned last = 0;

    for (unsigned i = 1; i < w->dims; i++) {
        struct walk_dim *in = &w->dim[last], *out = &w->dim[i];

        if (out->to == in->to * (int64_t)in->n &&
            out->source == in->source * (int64_t)in->n)
            in->n *= out->n;
        else
            w->dim[++last] = *out;
    }
    w->dims = last + 1;
}

void walk_init(struct walk *w, const struct plan_place *to,
               const struct plan_place *source)
{
    int64_t to_bytes = (int64_t)dtype_bytes(to->dtype);
    int64_t source_bytes = source ? (int64_t)dtype_bytes(source->dtype) : 0;

    memset(w, 0, sizeof(*w));
    w->count = 1;
    for (unsigned i = 0; i < to->dims; i++)
        if (to->n[i] == 0)
            w->count = 0;
    if (!w->count)
        return;
    for (unsigned i = to->dims; i-- > 0;) {
        w->count *= to->n[i];
        if (to->n[i] > 1)
            walk_insert(w, (struct walk_dim){
                               to->n[i], to->stride[i] * to_bytes,
                               source ? source->stride[i] * source_bytes : 0});
    }
    if (w->dims)
        walk_join(w);
    else
        walk_insert(w, (struct walk_dim){1, to_bytes, source_bytes});
}

bool walk_is_plain(const struct walk *w, size_t to_bytes, size_t source_bytes)
{
    return w->dims == 1 && w->dim[0].to == (int64_t)to_bytes &&
           w->dim[0].source == (int64_t)source_bytes;
}
