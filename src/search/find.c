/* find.c: the index, and three ways to choose from it. */
#include "search/find.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t find_fold(char *out, size_t max, struct str name)
{
    size_t len = 0;

    for (size_t i = 0; i < name.n && len < max; i++) {
        char c = name.p[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != '_')
            out[len++] = c;
    }
    return len;
}

struct member {
    int64_t entry;
    const char *task, *task_hash;
    const char **ops; /* folded; NULL-terminated */
    bool near;        /* its vector has a direction */
};

/* Identifies hidden members by numbers: every query visits all members, and
 * comparing strings would take longer. */
struct twin {
    uint64_t task, hash; /* of the two strings, or one of: */
};
#define TWIN_REMOVED 0 /* keeps its place, so that snapshots stay valid */
#define TWIN_NONE    1 /* an empty string in a member */
#define TWIN_ASKED   2 /* an empty string in a query: matches nothing */

struct find {
    size_t dim;
    struct member *member;
    size_t len, cap;
    struct twin *twin; /* for each member */
    size_t twin_cap;
    float *panels; /* the members' vectors, see below */
    size_t panel_cap;
    struct arena memory; /* the members' strings */
};

struct find *find_new(size_t dim)
{
    struct find *f = xcalloc(1, sizeof(*f));

    if (dim == 0)
        BUG("an index of vectors without places");
    f->dim = dim;
    return f;
}

void find_free(struct find *f)
{
    free(f->member);
    free(f->twin);
    free(f->panels);
    arena_release(&f->memory);
    free(f);
}

/* A layer and its function are the same operator: MaxPool2d is max_pool2d. */
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

        find_fold(name, len, str_of(ops[i]));
        copy[i] = name;
    }
    return copy;
}

static const char *copy_text(struct arena *a, const char *s)
{
    return arena_strdup(a, s ? s : "");
}

static uint64_t twin_key(const char *text, uint64_t none)
{
    return text && *text ? fnv1a(text, strlen(text)) | 4 : none;
}

/* A new panel is all zeros: unused places are not similar to anything. */
static void add_panel(struct find *f)
{
    size_t bytes = f->dim * TOPK_PANEL * sizeof(float), n = f->len / TOPK_PANEL;

    if (f->len % TOPK_PANEL)
        return;
    f->panels = xgrow(f->panels, &f->panel_cap, n, bytes);
    memset(f->panels + n * f->dim * TOPK_PANEL, 0, bytes);
}

void find_add(struct find *f, const struct find_entry *m)
{
    float *unit = xmalloc(f->dim * sizeof(*unit));
    struct member *to;

    f->member = xgrow(f->member, &f->cap, f->len, sizeof(*f->member));
    f->twin = xgrow(f->twin, &f->twin_cap, f->len, sizeof(*f->twin));
    f->twin[f->len] = (struct twin){twin_key(m->task, TWIN_NONE),
                                    twin_key(m->task_hash, TWIN_NONE)};
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
            f->twin[i].task = TWIN_REMOVED;
}

size_t find_count(const struct find *f)
{
    return f->len;
}

/* ---- who may be shown ---- */

/* A query, with everything that is the same for all members. */
struct asked {
    const struct find *f;
    const struct find_query *q;
    struct twin twin;
    size_t n; /* members that it can see */
};

static struct asked find_ask(const struct find *f, const struct find_query *q)
{
    return (struct asked){.f = f,
                          .q = q,
                          .twin = {twin_key(q->task, TWIN_ASKED),
                                   twin_key(q->task_hash, TWIN_ASKED)},
                          .n = q->visible < f->len ? q->visible : f->len};
}

/* Not shown: removed, the task itself, or a twin of it. */
static bool hidden(const struct asked *a, size_t i)
{
    struct twin t = a->f->twin[i];
    const struct member *m = &a->f->member[i];

    if (t.task == TWIN_REMOVED)
        return true;
    return (t.task == a->twin.task && strcmp(m->task, a->q->task) == 0) ||
           (t.hash == a->twin.hash &&
            strcmp(m->task_hash, a->q->task_hash) == 0);
}

/* Members already chosen. */
struct chosen {
    const size_t *at;
    size_t len;
};

static bool is_chosen(struct chosen c, size_t i)
{
    size_t k = 0;

    while (k < c.len && c.at[k] != i)
        k++;
    return k < c.len;
}

/* Twins share one place: never two kernels for the same source. */
static bool has_twin(const struct asked *a, struct chosen c, size_t i)
{
    const struct find *f = a->f;

    for (size_t k = 0; k < c.len; k++) {
        size_t x = c.at[k];

        if (f->twin[x].hash != TWIN_NONE &&
            f->twin[x].hash == f->twin[i].hash &&
            strcmp(f->member[x].task_hash, f->member[i].task_hash) == 0)
            return true;
    }
    return false;
}

static struct find_hit hit_of(const struct find *f, size_t i, int32_t cosine)
{
    return (struct find_hit){f->member[i].entry, cosine == TOPK_NEVER
                                                     ? FIND_NO_COSINE
                                                     : (double)cosine / 1e6};
}

/* ---- at random ---- */

/* Members that cannot be drawn, in order. */
struct places {
    size_t *at;
    size_t len, cap;
};

static void places_put(struct places *p, size_t i, size_t at)
{
    p->at = xgrow(p->at, &p->cap, p->len, sizeof(*p->at));
    memmove(p->at + i + 1, p->at + i, (p->len++ - i) * sizeof(*p->at));
    p->at[i] = at;
}

static size_t pick_random(const struct asked *a, struct find_hit *hit, size_t k)
{
    struct places out = {0};
    size_t n = 0, *at = xcalloc(k + 1, sizeof(*at));

    for (size_t i = 0; i < a->n; i++)
        if (hidden(a, i))
            places_put(&out, out.len, i);
    while (n < k && out.len < a->n) {
        size_t nth = (size_t)rng_below(a->q->rng, a->n - out.len), i = 0;

        for (; i < out.len && out.at[i] <= nth; i++)
            nth++;
        places_put(&out, i, nth);
        if (has_twin(a, (struct chosen){at, n}, nth))
            continue;
        at[n] = nth;
        hit[n++] = hit_of(a->f, nth, TOPK_NEVER);
    }
    free(out.at);
    free(at);
    return n;
}

/* ---- the nearest ---- */

/* The cosines of all members that the query can see. The caller frees them. */
static int32_t *find_compare(const struct asked *a)
{
    const struct find *f = a->f;
    int32_t *cosine = xreallocarray(NULL, a->n + 1, sizeof(*cosine));
    float *unit = xmalloc(f->dim * sizeof(*unit));
    uint32_t *place = xmalloc(f->dim * sizeof(*place));

    if (a->q->vector && topk_unit(unit, a->q->vector, f->dim))
        topk_cosines(unit, f->panels, a->n, f->dim, place, cosine);
    else
        for (size_t i = 0; i < a->n; i++)
            cosine[i] = TOPK_NEVER;
    free(unit);
    free(place);
    return cosine;
}

/* Picks the best remaining member, one at a time. Ties go to the first to
 * join. */
static size_t pick_nearest(const struct asked *a, struct find_hit *hit,
                           size_t k)
{
    int32_t *cosine = find_compare(a);
    size_t n = 0, *at = xcalloc(k + 1, sizeof(*at));

    for (size_t i = 0; i < a->n; i++)
        if (!a->f->member[i].near)
            cosine[i] = TOPK_NEVER;
    for (; n < k; n++) {
        size_t best = a->n;

        for (size_t i = 0; i < a->n; i++)
            if ((best == a->n || cosine[i] > cosine[best]) && !hidden(a, i) &&
                !is_chosen((struct chosen){at, n}, i) &&
                !has_twin(a, (struct chosen){at, n}, i))
                best = i;
        if (best == a->n)
            break;
        at[n] = best;
        hit[n] = hit_of(a->f, best, cosine[best]);
    }
    free(cosine);
    free(at);
    return n;
}

/* ---- what covers the task's operators ---- */

/* One candidate for an answer. */
struct choice {
    size_t member;
    int32_t cosine; /* in millionths, or TOPK_NEVER */
    bool taken;     /* it or a twin was chosen */
};

struct choices {
    struct choice *of; /* in the order they joined */
    size_t len;
};

static void choices_init(struct choices *c, const struct asked *a)
{
    int32_t *cosine = find_compare(a);

    *c = (struct choices){xcalloc(a->n, sizeof(*c->of)), 0};
    for (size_t i = 0; i < a->n; i++)
        if (!hidden(a, i))
            c->of[c->len++] = (struct choice){
                i, a->f->member[i].near ? cosine[i] : TOPK_NEVER, false};
    free(cosine);
}

/* Operators of the task that no chosen example has yet. */
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

static void find_cover(struct wanted *w, const struct member *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->len; i++)
        if (!shows(m, w->op[i]))
            w->op[kept++] = w->op[i];
    w->len = kept;
}

/* The member that covers the most missing operators. Ties go to the most
 * similar, then to the first to join. NULL: all are taken. */
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
    if (best)
        find_cover(w, &f->member[best->member]);
    return best;
}

static void wanted_init(struct wanted *w, const struct find_query *q,
                        struct arena *a)
{
    size_t kept = 0;

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

/* Chooses a member and rules out its twins. */
static void find_take(const struct asked *a, struct choices *c, size_t member)
{
    for (size_t i = 0; i < c->len; i++) {
        struct choice *x = &c->of[i];

        if (!x->taken)
            x->taken = x->member == member ||
                       has_twin(a, (struct chosen){&member, 1}, x->member);
    }
}

static size_t pick_covering(const struct asked *a, struct find_hit *hit,
                            size_t k)
{
    struct choices c;
    struct wanted w;
    struct arena memory = {0};
    struct choice *x;
    size_t n = 0;

    choices_init(&c, a);
    wanted_init(&w, a->q, &memory);
    while (n < k && (x = best(a->f, &c, &w))) {
        hit[n++] = hit_of(a->f, x->member, x->cosine);
        find_take(a, &c, x->member);
    }
    free(c.of);
    arena_release(&memory);
    return n;
}

size_t find_pick(const struct find *f, const struct find_query *q,
                 struct find_hit *hit, size_t k)
{
    static size_t (*const pick[])(const struct asked *, struct find_hit *,
                                  size_t) = {
        [FIND_SIMILAR] = pick_nearest,
        [FIND_RANDOM] = pick_random,
        [FIND_COVERAGE] = pick_covering,
    };
    struct asked a = find_ask(f, q);

    return pick[q->mode](&a, hit, k);
}

/* ---- comparing unit vectors ---- */

#define LANES  8
#define CHUNK  32 /* keeps the error of long sums small */
#define INLINE static inline __attribute__((always_inline))

typedef float lanes __attribute__((vector_size(4 * LANES)));

bool topk_unit(float *out, const float *v, size_t dim)
{
    double squares = 0, length;

    memset(out, 0, dim * sizeof(*out));
    for (size_t i = 0; i < dim; i++)
        squares += (double)v[i] * (double)v[i];
    length = sqrt(squares);
    if (!(length > 0) || !isfinite(length))
        return false;
    for (size_t i = 0; i < dim; i++)
        out[i] = (float)((double)v[i] / length);
    return true;
}

void topk_put(float *panels, size_t n, const float *unit, size_t dim)
{
    float *at = panels + n / TOPK_PANEL * dim * TOPK_PANEL + n % TOPK_PANEL;

    for (size_t i = 0; i < dim; i++)
        at[i * TOPK_PANEL] = unit[i];
}

/* A unit vector, and its nonzero places. */
struct topk_query {
    const float *unit;
    size_t dim;
    const uint32_t *place;
    size_t places;
};

static int32_t millionths(float cosine)
{
    double x = (double)cosine * 1e6;

    return (int32_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* Adds the products of at most CHUNK places. Meanwhile it prefetches those of
 * the next panel, which are far away. */
INLINE void one_chunk(const float *unit, const float *panel, size_t dim,
                      const uint32_t *place, size_t places,
                      lanes sum[TOPK_PANEL / LANES])
{
    lanes a = {0}, b = {0}, c = {0}, d = {0}, v[TOPK_PANEL / LANES];

    for (size_t i = 0; i < places; i++) {
        const float *p = panel + (size_t)place[i] * TOPK_PANEL;
        float x = unit[place[i]];

        memcpy(v, p, sizeof(v));
        a += x * v[0];
        b += x * v[1];
        c += x * v[2];
        d += x * v[3];
        __builtin_prefetch(p + dim * TOPK_PANEL);
        __builtin_prefetch(p + dim * TOPK_PANEL + TOPK_PANEL / 2);
    }
    sum[0] += a;
    sum[1] += b;
    sum[2] += c;
    sum[3] += d;
}

INLINE void all_panels(const struct topk_query *q, const float *panels,
                       size_t n, int32_t *out)
{
    for (size_t i = 0; i < n; i += TOPK_PANEL) {
        lanes sum[TOPK_PANEL / LANES] = {{0}};
        float cosine[TOPK_PANEL];

        for (size_t at = 0; at < q->places; at += CHUNK)
            one_chunk(q->unit, panels + i * q->dim, q->dim, q->place + at,
                      q->places - at < CHUNK ? q->places - at : CHUNK, sum);
        memcpy(cosine, sum, sizeof(sum));
        for (size_t j = i; j < n && j < i + TOPK_PANEL; j++)
            out[j] = millionths(cosine[j - i]);
    }
}

static void panels_plain(const struct topk_query *q, const float *panels,
                         size_t n, int32_t *out)
{
    all_panels(q, panels, n, out);
}

#ifdef __x86_64__
/* The same sums, more at a time. */
__attribute__((target("avx2"))) static void
panels_wide(const struct topk_query *q, const float *panels, size_t n,
            int32_t *out)
{
    all_panels(q, panels, n, out);
}
#endif

void topk_cosines(const float *unit, const float *panels, size_t n, size_t dim,
                  uint32_t *place, int32_t *out)
{
    struct topk_query q = {.unit = unit, .dim = dim, .place = place};

    for (size_t i = 0; i < dim; i++) {
        place[q.places] = (uint32_t)i;
        q.places += unit[i] != 0;
    }
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        panels_wide(&q, panels, n, out);
        return;
    }
#endif
    panels_plain(&q, panels, n, out);
}
