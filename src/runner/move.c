/* move.c: copies, fills and counters on the CPU: an odometer over the outer
 * dimensions, and one loop for the innermost. */
#include "runner/move.h"

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

void walk_init(struct walk *w, const struct program_place *to,
               const struct program_place *source)
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

/* ---- moves ---- */

struct line {
    char *to, *source;
    const struct walk_dim *dim;
    const struct program_node *node;
};

typedef void line_fn(const struct line *l);

/* Calls `each` for every line along the innermost dimension. */
static void for_lines(const struct walk *w, struct line l, line_fn *each)
{
    uint64_t at[PROGRAM_DIMS] = {0};
    unsigned i;

    if (!w->count)
        return;
    l.dim = &w->dim[0];
    do {
        each(&l);
        for (i = 1; i < w->dims; i++) {
            l.to += w->dim[i].to;
            l.source += w->dim[i].source;
            if (++at[i] < w->dim[i].n)
                break;
            l.to -= w->dim[i].to * (int64_t)at[i];
            l.source -= w->dim[i].source * (int64_t)at[i];
            at[i] = 0;
        }
    } while (i < w->dims);
}

static void convert_line(const struct line *l)
{
    struct dtype_run to = {l->node->to.dtype, l->to, l->dim->to};
    struct dtype_run source = {l->node->source.dtype, l->source,
                               l->dim->source};

    dtype_convert(to, source, (size_t)l->dim->n);
}

/* Copies strided elements. The size is a constant, so that the compiler can
 * inline the copy. */
#define STEP_ELEMENTS(bytes)                   \
    for (uint64_t k = 0; k < l->dim->n; k++) { \
        memmove(to, source, bytes);            \
        to += l->dim->to;                      \
        source += l->dim->source;              \
    }

static void copy_line(const struct line *l)
{
    size_t bytes = dtype_bytes(l->node->to.dtype);
    char *to = l->to, *source = l->source;

    if (l->dim->to == (int64_t)bytes && l->dim->source == (int64_t)bytes)
        memmove(to, source, bytes * l->dim->n);
    else if (bytes == 8)
        STEP_ELEMENTS(8)
    else if (bytes == 4)
        STEP_ELEMENTS(4)
    else if (bytes == 2)
        STEP_ELEMENTS(2)
    else
        STEP_ELEMENTS(1)
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to
void move_copy(char *region, const struct program_node *n)
{
    struct line l = {region + n->to.at, region + n->source.at, NULL, n};
    struct walk w;

    walk_init(&w, &n->to, &n->source);
    for_lines(&w, l, n->to.dtype == n->source.dtype ? copy_line : convert_line);
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to
void move_fill(char *region, const struct program_node *n)
{
    uint64_t value = n->value;
    struct line l = {region + n->to.at, (char *)&value, NULL, n};
    struct walk w;

    walk_init(&w, &n->to, NULL);
    for_lines(&w, l, copy_line);
}

void move_add(char *region, const struct program_node *n)
{
    size_t bytes = dtype_bytes(n->to.dtype);
    uint64_t now = 0;

    memcpy(&now, region + n->to.at, bytes);
    now += n->value;
    memcpy(region + n->to.at, &now, bytes);
}
