/* pieces.c: the pieces that the tasks of a run were divided into: from folders
 * that `decompose` has made when it begins, from its store when it is
 * continued. They follow the tasks in the run's collection. */
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "curriculum/curriculum.h"
#include "run/run_int.h"
#include "search/method.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

int run_pieces_check(const struct run_settings *s, struct err *e)
{
    const struct method *m = method_find(s->method);
    bool any = s->curriculum || s->curriculum_from.len;

    if (s->curriculum && s->curriculum_from.len)
        return err_set(e, ERR_USAGE,
                       "give --curriculum LEVEL, which divides the tasks, or "
                       "--curriculum-from DIR, which is ready, not both");
    if (s->piece_example && !any)
        return err_set(e, ERR_USAGE,
                       "--piece-example needs --curriculum LEVEL or "
                       "--curriculum-from DIR");
    if (s->refine_after && !any)
        return err_set(e, ERR_USAGE,
                       "--refine-after needs --curriculum LEVEL or "
                       "--curriculum-from DIR");
    if (s->piece_example && !s->examples)
        return err_set(e, ERR_USAGE,
                       "--piece-example needs a place: --examples must not be "
                       "0");
    if (any && !m->shows_run && !s->piece_example)
        return err_set(e, ERR_USAGE,
                       "%s shows the pack's seeds alone, so solved pieces help "
                       "nobody: add --piece-example, or use --method monkeys "
                       "or combined",
                       m->name);
    if (s->refine_after && (!m->may_be_eager || strcmp(s->order, "eager") == 0))
        return err_set(e, ERR_USAGE,
                       "--refine-after counts the iterations of --method "
                       "monkeys in strict order");
    if (s->refine_after && s->curriculum &&
        strcmp(s->curriculum, piece_levels[LEVEL_FINE]) == 0)
        return err_set(e, ERR_USAGE,
                       "--refine-after: no level is finer than fine; begin "
                       "with --curriculum coarse");
    return 0;
}

/* ---- from folders ---- */

struct found {
    struct task *task;
    struct search_piece piece;
    const char **needs; /* ids */
    size_t need_count;
    size_t *parents;
    size_t number; /* in the run, once the order is known */
};

struct gathering {
    struct run *r;
    struct found **found;
    size_t len, cap;
    struct map id, hash; /* the same; several ids may name one */
};

static size_t task_number(const struct run *r, const char *id)
{
    size_t i = 0;

    while (i < r->originals && strcmp(r->tasks.task[i]->id, id) != 0)
        i++;
    return i;
}

static bool is_wanted(const struct run *r, const struct piece *p)
{
    for (size_t i = 0; i < p->nparents; i++)
        if (task_number(r, p->parents[i].problem) < r->originals)
            return true;
    return false;
}

static void add_parent(struct found *x, size_t task)
{
    for (size_t i = 0; i < x->piece.parent_count; i++)
        if (x->parents[i] == task)
            return;
    x->parents[x->piece.parent_count++] = task;
}

/* The tasks of this run that it is a piece of. */
static void add_parents(const struct run *r, struct found *x,
                        const struct piece *p)
{
    for (size_t i = 0; i < p->nparents; i++) {
        size_t task = task_number(r, p->parents[i].problem);

        if (task < r->originals)
            add_parent(x, task);
    }
}

static const char *piece_id(struct run *r, const char *level, const char *name)
{
    return arena_printf(&r->memory, "%s/%s", level, name);
}

static struct found *new_found(struct run *r, struct piece *p, const char *id)
{
    struct found *x = arena_alloc(&r->memory, sizeof(*x));

    *x = (struct found){
        .task = p->task,
        .piece = {.kind = piece_kinds[p->kind],
                  .level = arena_strdup(&r->memory, p->level),
                  .title = arena_strdup(&r->memory, p->title),
                  .fineness =
                      (int)contract_word(p->level, piece_levels, PIECE_LEVELS)},
        .needs = arena_alloc(&r->memory, (p->nneeds + 1) * sizeof(*x->needs)),
        .parents =
            arena_alloc(&r->memory, (r->originals + 1) * sizeof(*x->parents))};
    for (size_t i = 0; i < p->nneeds; i++)
        x->needs[x->need_count++] = piece_id(r, p->level, p->needs[i]);
    p->task = NULL; /* taken over */
    free(x->task->id);
    x->task->id = xstrdup(id);
    return x;
}

/* A piece that a coarser level has, too, is that one, and serves the tasks of
 * both. */
static int take_piece(struct gathering *g, struct piece *p, struct err *e)
{
    struct run *r = g->r;
    const char *id = piece_id(r, p->level, p->name);
    struct found *x = map_get(&g->hash, str_of(p->task->hash));

    if (task_number(r, id) < r->originals || map_get(&g->id, str_of(id)))
        return err_set(e, ERR_INPUT,
                       "%s: the run has another task %s; rename its folder",
                       p->task->path, id);
    if (!x) {
        x = new_found(r, p, id);
        g->found = xgrow(g->found, &g->cap, g->len, sizeof(*g->found));
        g->found[g->len++] = x;
        map_set(&g->hash, str_of(x->task->hash), x);
    }
    add_parents(r, x, p);
    map_set(&g->id, str_of(id), x);
    return 0;
}

static int take_level(struct gathering *g, struct curriculum *c,
                      const char *level, struct err *e)
{
    for (size_t i = 0; i < c->len; i++)
        if (strcmp(c->piece[i].level, level) == 0 &&
            is_wanted(g->r, &c->piece[i]) && take_piece(g, &c->piece[i], e) < 0)
            return -1;
    return 0;
}

static int check_problems(const struct run *r, const struct curriculum *c,
                          const char *dir, struct err *e)
{
    for (size_t i = 0; i < c->nproblems; i++)
        if (task_number(r, c->problem[i].id) < r->originals)
            return 0;
    return err_set(
        e, ERR_INPUT,
        "%s divides no task of this run, but %s; 'monkeys decompose' "
        "divides yours",
        dir, c->nproblems ? c->problem[0].id : "none at all");
}

/* ---- the order ---- */

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct found *const *)a)->task->id,
                  (*(struct found *const *)b)->task->id);
}

/* As tasks are: by their ids and the seed. */
static void put_in_order(struct gathering *g)
{
    size_t *index = xreallocarray(NULL, g->len + 1, sizeof(*index));
    struct rng rng;

    if (g->len)
        qsort(g->found, g->len, sizeof(struct found *), by_id);
    for (size_t i = 0; i < g->len; i++)
        index[i] = i;
    rng_init(&rng, "%lld/order/pieces", (long long)g->r->set->seed);
    rng_shuffle(&rng, index, g->len);
    for (size_t i = 0; i < g->len; i++)
        g->found[index[i]]->number = g->r->originals + i;
    free(index);
}

/* Pieces of tasks that are not part of this run are not needed. */
static void number_needs(struct gathering *g)
{
    for (size_t i = 0; i < g->len; i++) {
        struct found *x = g->found[i];
        size_t *needs =
            arena_alloc(&g->r->memory, (x->need_count + 1) * sizeof(*needs));

        for (size_t k = 0; k < x->need_count; k++) {
            const struct found *need = map_get(&g->id, str_of(x->needs[k]));

            if (need && need != x)
                needs[x->piece.need_count++] = need->number;
        }
        x->piece.needs = needs;
        x->piece.parents = x->parents;
    }
}

static void add_all(struct gathering *g)
{
    struct run *r = g->r;

    r->piece = arena_alloc(&r->memory, (g->len + 1) * sizeof(*r->piece));
    r->tasks.task = xreallocarray(r->tasks.task, r->originals + g->len + 1,
                                  sizeof(*r->tasks.task));
    r->tasks.cap = r->originals + g->len + 1;
    for (size_t i = 0; i < g->len; i++) {
        struct found *x = g->found[i];

        r->piece[x->number - r->originals] = x->piece;
        r->tasks.task[x->number] = x->task;
        x->task = NULL;
    }
    r->tasks.len = r->originals + g->len;
}

/* Folders have no circles, and merging levels makes coarser pieces need no finer
 * ones: a depth is settled after as many rounds as there are pieces. */
static void find_depths(struct run *r)
{
    size_t n = r->tasks.len - r->originals;
    bool changed = true;

    for (size_t round = 0; changed && round < n; round++) {
        changed = false;
        for (size_t i = 0; i < n; i++) {
            struct search_piece *p = &r->piece[i];

            for (size_t k = 0; k < p->need_count; k++) {
                size_t depth = r->piece[p->needs[k] - r->originals].depth + 1;

                changed |= depth > p->depth;
                p->depth = depth > p->depth ? depth : p->depth;
            }
        }
    }
}

int run_pieces_load(struct run *r, const char *const *dir, size_t n,
                    struct err *e)
{
    struct curriculum *c = xcalloc(n + 1, sizeof(*c));
    struct gathering g = {.r = r};
    size_t read = 0;
    int rc = 0;

    if (!n) {
        free(c);
        return 0;
    }
    map_init(&g.id);
    map_init(&g.hash);
    for (; rc == 0 && read < n; read++) {
        rc = curriculum_read(&c[read], dir[read], e);
        if (rc == 0)
            rc = check_problems(r, &c[read], dir[read], e);
    }
    for (size_t level = 0; level < PIECE_LEVELS; level++)
        for (size_t i = 0; rc == 0 && i < n; i++)
            rc = take_level(&g, &c[i], piece_levels[level], e);
    if (rc == 0) {
        put_in_order(&g);
        number_needs(&g);
        add_all(&g);
        find_depths(r);
    }
    for (size_t i = 0; i < g.len; i++)
        task_free(g.found[i]->task);
    for (size_t i = 0; i < read; i++)
        curriculum_release(&c[i]);
    free(c);
    free(g.found);
    map_release(&g.id);
    map_release(&g.hash);
    return rc;
}

/* ---- from the store ---- */

void run_pieces_keep(struct run *r)
{
    char text[32];

    if (r->tasks.len == r->originals)
        return;
    run_tasks_keep(r);
    snprintf(text, sizeof(text), "%zu", r->tasks.len - r->originals);
    store_set(r->store, "pieces", text);
}

/* The numbers of the tasks with these ids, one a line. */
static int numbers_of(struct run *r, const char *lines, const size_t **out,
                      size_t *count, struct err *e)
{
    struct str rest = str_of(lines ? lines : ""), line;
    size_t *list = arena_alloc(&r->memory, (r->tasks.len + 1) * sizeof(*list));

    *out = list;
    while (*count < r->tasks.len && str_cut(&rest, '\n', &line)) {
        size_t i = 0;

        while (i < r->tasks.len &&
               (strlen(r->tasks.task[i]->id) != line.n ||
                memcmp(r->tasks.task[i]->id, line.p, line.n) != 0))
            i++;
        if (i == r->tasks.len)
            return err_set(e, ERR_INPUT,
                           "a piece names the task %.*s, which "
                           "the run does not have",
                           (int)line.n, line.p);
        list[(*count)++] = i;
    }
    return 0;
}

struct recalling {
    struct run *r;
    struct err *e;
};

static int on_piece(const struct row_task *row, void *arg)
{
    struct recalling *c = arg;
    struct run *r = c->r;
    struct search_piece *p;

    if (!row->kind)
        return 0;
    p = &r->piece[(size_t)row->ord - r->originals];
    *p = (struct search_piece){
        .kind = arena_strdup(&r->memory, row->kind),
        .level = arena_strdup(&r->memory, row->level ? row->level : ""),
        .title = arena_strdup(&r->memory, row->title ? row->title : ""),
        .depth = (size_t)row->depth};
    p->fineness = (int)contract_word(p->level, piece_levels, PIECE_LEVELS);
    if (numbers_of(r, row->needs, &p->needs, &p->need_count, c->e) < 0)
        return -1;
    return numbers_of(r, row->parents, &p->parents, &p->parent_count, c->e);
}

int run_pieces_recall(struct run *r, struct err *e)
{
    struct recalling c = {r, e};

    if (r->tasks.len == r->originals)
        return 0;
    r->piece = arena_alloc(&r->memory, (r->tasks.len - r->originals + 1) *
                                           sizeof(*r->piece));
    return store_each_task(r->store, on_piece, &c, e) == 0 ? 0 : -1;
}
