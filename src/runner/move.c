/* move.c: copies, fills and counters on the CPU: an odometer over the outer
 * dimensions, and one loop for the innermost. */
#include "runner/move.h"

#include "runner/walk.h"

#include <string.h>

struct line {
    char *to, *source;
    const struct walk_dim *dim;
    const struct plan_node *node;
};

typedef void line_fn(const struct line *l);

/* Calls `each` for every line along the innermost dimension. */
static void for_lines(const struct walk *w, struct line l, line_fn *each)
{
    uint64_t at[PLAN_DIMS] = {0};
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
void move_copy(char *region, const struct plan_node *n)
{
    struct line l = {region + n->to.at, region + n->source.at, NULL, n};
    struct walk w;

    walk_init(&w, &n->to, &n->source);
    for_lines(&w, l, n->to.dtype == n->source.dtype ? copy_line : convert_line);
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to
void move_fill(char *region, const struct plan_node *n)
{
    uint64_t value = n->value;
    struct line l = {region + n->to.at, (char *)&value, NULL, n};
    struct walk w;

    walk_init(&w, &n->to, NULL);
    for_lines(&w, l, copy_line);
}

void move_add(char *region, const struct plan_node *n)
{
    size_t bytes = dtype_bytes(n->to.dtype);
    uint64_t now = 0;

    memcpy(&now, region + n->to.at, bytes);
    now += n->value;
    memcpy(region + n->to.at, &now, bytes);
}
