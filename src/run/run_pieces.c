/* run_pieces.c: the pieces that the tasks of a run were divided into: from folders
 * that `decompose` has made when it begins, from its store when it is
 * continued. They follow the tasks in the run's collection. */
#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "curriculum/curriculum.h"
#include "curriculum/maker.h"
#include "pack/pack_file.h"
#include "run/parts.h"
#include "search/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

int run_pieces_check(const struct run_settings *s, struct err *e)
{
    const struct method *m = method_find(s->method);
    bool any = s->curriculum || s->curriculum_from.len;

    if (s->curriculum && s->curriculum_from.len)
        return err_set(e, ERR_USAGE,
                       "give --curriculum LEVEL, which divides the tasks "
                       "now, or --curriculum-from DIR, which has them "
                       "divided, not both");
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
                       "%s shows only the pack's seeds, so solved pieces "
                       "would be of no use: add --piece-example, or use "
                       "--method monkeys or combined",
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

static void piece_parent(struct found *x, size_t task)
{
    for (size_t i = 0; i < x->piece.parent_count; i++)
        if (x->parents[i] == task)
            return;
    x->parents[x->piece.parent_count++] = task;
}

/* The tasks of this run that it is a piece of. */
static void piece_parents(const struct run *r, struct found *x,
                          const struct piece *p)
{
    for (size_t i = 0; i < p->nparents; i++) {
        size_t task = task_number(r, p->parents[i].problem);

        if (task < r->originals)
            piece_parent(x, task);
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
    piece_parents(r, x, p);
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

static int by_piece_id(const void *a, const void *b)
{
    return strcmp((*(struct found *const *)a)->task->id,
                  (*(struct found *const *)b)->task->id);
}

/* As tasks are: by their ids and the seed. */
static void order_pieces(struct gathering *g)
{
    size_t *index = xreallocarray(NULL, g->len + 1, sizeof(*index));
    struct rng rng;

    if (g->len)
        qsort(g->found, g->len, sizeof(struct found *), by_piece_id);
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

static void add_pieces(struct gathering *g)
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
static void piece_depths(struct run *r)
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
    for (; rc == 0 && read < n; read++) {
        rc = curriculum_read(&c[read], dir[read], e);
        if (rc == 0)
            rc = check_problems(r, &c[read], dir[read], e);
    }
    for (size_t level = 0; level < PIECE_LEVELS; level++)
        for (size_t i = 0; rc == 0 && i < n; i++)
            rc = take_level(&g, &c[i], piece_levels[level], e);
    if (rc == 0) {
        order_pieces(&g);
        number_needs(&g);
        add_pieces(&g);
        piece_depths(r);
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

int run_pieces_recall(struct run *r, const struct row_task *row, struct err *e)
{
    size_t n = r->tasks.len - r->originals;

    if (n == 0)
        return 0;
    r->piece = arena_alloc(&r->memory, (n + 1) * sizeof(*r->piece));
    for (size_t i = r->originals; i < r->tasks.len; i++) {
        struct search_piece *p = &r->piece[i - r->originals];
        const char *level = row[i].level, *title = row[i].title;

        *p = (struct search_piece){
            .kind = arena_strdup(&r->memory, row[i].kind),
            .level = arena_strdup(&r->memory, level ? level : ""),
            .title = arena_strdup(&r->memory, title ? title : ""),
            .depth = (size_t)row[i].depth};
        p->fineness = (int)contract_word(p->level, piece_levels, PIECE_LEVELS);
        if (numbers_of(r, row[i].needs, &p->needs, &p->need_count, e) < 0 ||
            numbers_of(r, row[i].parents, &p->parents, &p->parent_count, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- dividing ----
 *
 * When a run begins, into OUT/curriculum/LEVEL. A level that is there is complete, so a
 * run that is continued divides nothing twice. */

static void divide_step(const struct ask_progress *p, void *arg)
{
    run_tell(arg, p->done, NULL);
}

static void warn_of_whole(const struct curriculum *c, const char *level)
{
    for (size_t i = 0; i < c->nproblems; i++) {
        const struct problem *p = &c->problem[i];
        const json_t *findings = json_object_get(p->outline, "findings");

        if (p->depth == 0)
            log_warn("%s has no pieces (%s): %s", p->id, level,
                     jsn_str(json_array_get(findings, 0), "detail"));
    }
}

/* Under another name until it is complete. */
static int keep_level(const struct curriculum *c, const char *dir,
                      struct err *e)
{
    char *part = xasprintf("%s.part", dir);
    int rc = 0;

    fs_remove_tree(part);
    if (fs_mkdirs(part, e) < 0 || curriculum_write(c, part, e) < 0)
        rc = -1;
    else if (rename(part, dir) < 0)
        rc = err_sys(e, "%s: cannot be renamed to %s", part, dir);
    free(part);
    return rc;
}

static int deliver_level(const struct maker *m, const char *dir,
                         const char *level, struct err *e)
{
    struct curriculum c;
    int rc = maker_take(m, &c, e);

    if (rc == 0 && c.len == 0)
        rc = err_set(e, ERR_INPUT,
                     "--curriculum %s: none of the tasks could be divided; "
                     "'monkeys decompose' says why",
                     level);
    if (rc == 0) {
        warn_of_whole(&c, level);
        rc = keep_level(&c, dir, e);
    }
    curriculum_release(&c);
    return rc;
}

/* Pieces do not depend on the run's precision: they are made in fp32. */
static int divide_level(struct run *r, const char *dir, enum piece_level level,
                        struct err *e)
{
    struct job_opts job = r->job;
    struct maker_parts parts = {
        .ask = {.loop = r->loop, .step = divide_step, .arg = r},
        .verifier = r->verifier,
        .job = &job};
    enum ask_end end;
    int rc;

    job.precision = precision_names[PRECISION_FP32];
    job.timing = false;
    r->maker = maker_new(&parts, &r->tasks, level);
    run_begin_phase(
        r, arena_printf(&r->memory, "tasks divided (%s)", piece_levels[level]),
        r->tasks.len);
    end = maker_run(r->maker, e);
    if (end == ASK_DONE)
        rc = deliver_level(r->maker, dir, piece_levels[level], e);
    else
        rc = end == ASK_FAILED ? -1 : 1;
    maker_free(r->maker);
    r->maker = NULL;
    return rc;
}

/* With --refine-after, finer levels are made as well. */
static size_t last_level(const struct run_settings *s, size_t first)
{
    return s->refine_after ? PIECE_LEVELS - 1 : first;
}

int run_divide(struct run *r, struct err *e)
{
    const struct run_settings *s = r->set;
    const char *dir[PIECE_LEVELS];
    char *folder;
    size_t n = 0, first;
    int rc = 0;

    if (!s->curriculum || r->complete)
        return 0;
    first = contract_word(s->curriculum, piece_levels, PIECE_LEVELS);
    folder = fs_join(s->out, RUN_CURRICULUM);
    if (!r->resume && fs_is_dir(folder))
        rc = err_set(e, ERR_INPUT,
                     "%s exists already; remove it, or choose another --out",
                     folder);
    else
        r->divided = true;
    for (size_t i = first; rc == 0 && i <= last_level(s, first); i++) {
        dir[n] = arena_printf(&r->memory, "%s/%s", folder, piece_levels[i]);
        if (!fs_is_dir(dir[n]))
            rc = divide_level(r, dir[n], (enum piece_level)i, e);
        n++;
    }
    free(folder);
    return rc ? rc : run_pieces_load(r, dir, n, e);
}
