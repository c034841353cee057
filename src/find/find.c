/* find.c: the index and the three ways to choose from it. */
#include "find/find.h"

#include "base/arena.h"
#include "base/mem.h"
#include "find/fold.h"
#include "find/topk.h"

#include <stdlib.h>
#include <string.h>

struct member {
    int64_t entry;
    const char *task, *task_hash;
    const char **ops; /* folded; NULL-ended */
    bool near;        /* its vector has a direction */
    bool removed;     /* keeps its place, so that snapshots keep their sizes */
};

struct find {
    size_t dim;
    struct member *member;
    size_t len, cap;
    float *panels; /* topk.h: the members' vectors */
    size_t panel_cap;
    struct arena memory; /* the members' texts */
};

struct find *find_new(size_t dim)
{
    struct find *f = xcalloc(1, sizeof(*f));

    if (dim == 0)
        BUG("an index of vectors without places");
    f->dim = dim;
    arena_init(&f->memory);
    return f;
}

void find_free(struct find *f)
{
    free(f->member);
    free(f->panels);
    arena_release(&f->memory);
    free(f);
}

/* MaxPool2d is max_pool2d: a layer and its function are one operator. */
static const char **fold_ops(struct arena *a, const char *const *ops)
{
    const char **copy;
    size_t n = 0;

    while (ops && ops[n])
        n++;
    copy = arena_alloc(a, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(ops[i]);
        char *name = arena_alloc(a, len + 1);

        fold_name(name, len, str_of(ops[i]));
        copy[i] = name;
    }
    return copy;
}

static const char *copy_text(struct arena *a, const char *s)
{
    return arena_strdup(a, s ? s : "");
}

/* A new panel is all zeros: those who are to come are near to nobody. */
static void add_panel(struct find *f)
{
    size_t bytes = f->dim * TOPK_PANEL * sizeof(float), n = f->len / TOPK_PANEL;

    if (f->len % TOPK_PANEL)
        return;
    f->panels = xgrow(f->panels, &f->panel_cap, n, bytes);
    memset(f->panels + n * f->dim * TOPK_PANEL, 0, bytes);
}

void find_add(struct find *f, const struct find_member *m)
{
    float *unit = xmalloc(f->dim * sizeof(*unit));
    struct member *to;

    f->member = xgrow(f->member, &f->cap, f->len, sizeof(*f->member));
    add_panel(f);
    to = &f->member[f->len];
    *to = (struct member){
        .entry = m->entry,
        .task = copy_text(&f->memory, m->task),
        .task_hash = copy_text(&f->memory, m->task_hash),
        .ops = fold_ops(&f->memory, m->ops),
    };
    to->near = topk_unit(unit, m->vector, f->dim);
    topk_put(f->panels, f->len++, unit, f->dim);
    free(unit);
}

void find_remove(struct find *f, int64_t entry)
{
    for (size_t i = 0; i < f->len; i++)
        if (f->member[i].entry == entry)
            f->member[i].removed = true;
}

size_t find_count(const struct find *f)
{
    return f->len;
}

/* ---- who may be shown ---- */

/* One candidate for an answer. */
struct choice {
    size_t member;
    int32_t cosine; /* millionths, or TOPK_NEVER */
    bool taken;
};

struct choices {
    struct choice *of; /* in the order of joining */
    size_t len, taken;
};

static bool same(const char *a, const char *b)
{
    return a && b && *a && strcmp(a, b) == 0;
}

static void choices_init(struct choices *c, const struct find *f,
                         const struct find_query *q)
{
    size_t n = q->visible < f->len ? q->visible : f->len;

    *c = (struct choices){xcalloc(n, sizeof(*c->of)), 0, 0};
    for (size_t i = 0; i < n; i++) {
        const struct member *m = &f->member[i];

        if (m->removed || same(m->task, q->task) ||
            same(m->task_hash, q->task_hash))
            continue;
        c->of[c->len++] = (struct choice){i, TOPK_NEVER, false};
    }
}

static void compare(struct choices *c, const struct find *f,
                    const float *vector)
{
    size_t n = c->len ? c->of[c->len - 1].member + 1 : 0;
    int32_t *cosine = xcalloc(n, sizeof(*cosine));
    float *unit = xmalloc(f->dim * sizeof(*unit));
    uint32_t *place = xmalloc(f->dim * sizeof(*place));

    if (vector && topk_unit(unit, vector, f->dim)) {
        topk_cosines(unit, f->panels, n, f->dim, place, cosine);
        for (size_t i = 0; i < c->len; i++)
            if (f->member[c->of[i].member].near)
                c->of[i].cosine = cosine[c->of[i].member];
    }
    free(unit);
    free(place);
    free(cosine);
}

static struct find_hit take(const struct find *f, struct choices *c,
                            struct choice *x)
{
    x->taken = true;
    c->taken++;
    return (struct find_hit){f->member[x->member].entry,
                             x->cosine == TOPK_NEVER ? FIND_NO_COSINE
                                                     : (double)x->cosine / 1e6};
}

/* ---- the three ways; each gives the next choice; there is one left ---- */

static struct choice *drawn(struct choices *c, struct rng *rng)
{
    size_t nth = (size_t)rng_below(rng, c->len - c->taken), i = 0;

    while (c->of[i].taken || nth-- > 0)
        i++;
    return &c->of[i];
}

/* Operators of the task that no example shows yet. */
struct wanted {
    const char **op;
    size_t len;
};

static bool shows(const struct member *m, const char *op)
{
    for (size_t i = 0; m->ops[i]; i++)
        if (strcmp(m->ops[i], op) == 0)
            return true;
    return false;
}

static size_t gain(const struct wanted *w, const struct member *m)
{
    size_t n = 0;

    for (size_t i = 0; i < w->len; i++)
        n += shows(m, w->op[i]);
    return n;
}

static void cover(struct wanted *w, const struct member *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->len; i++)
        if (!shows(m, w->op[i]))
            w->op[kept++] = w->op[i];
    w->len = kept;
}

/* The one that shows most of what is wanted, then the nearest, then the first
 * to join; with nothing wanted that is the nearest. */
static struct choice *best(const struct find *f, struct choices *c,
                           struct wanted *w)
{
    struct choice *best = NULL;
    size_t most = 0;

    for (size_t i = 0; i < c->len; i++) {
        struct choice *x = &c->of[i];
        size_t n;

        if (x->taken)
            continue;
        n = gain(w, &f->member[x->member]);
        if (!best || n > most || (n == most && x->cosine > best->cosine)) {
            best = x;
            most = n;
        }
    }
    cover(w, &f->member[best->member]);
    return best;
}

static void wanted_init(struct wanted *w, const struct find_query *q,
                        struct arena *a)
{
    size_t kept = 0;

    *w = (struct wanted){0};
    if (q->mode != FIND_COVERAGE)
        return;
    w->op = fold_ops(a, q->ops);
    for (size_t i = 0; w->op[i]; i++) {
        size_t j = 0;

        while (j < kept && strcmp(w->op[j], w->op[i]) != 0)
            j++;
        if (j == kept)
            w->op[kept++] = w->op[i];
    }
    w->len = kept;
}

size_t find_pick(const struct find *f, const struct find_query *q,
                 struct find_hit *hit, size_t k)
{
    struct choices c;
    struct wanted w;
    struct arena a;
    size_t n = 0;

    arena_init(&a);
    choices_init(&c, f, q);
    wanted_init(&w, q, &a);
    if (q->mode != FIND_RANDOM)
        compare(&c, f, q->vector);
    while (n < k && c.taken < c.len)
        hit[n++] =
            take(f, &c,
                 q->mode == FIND_RANDOM ? drawn(&c, q->rng) : best(f, &c, &w));
    free(c.of);
    arena_release(&a);
    return n;
}
