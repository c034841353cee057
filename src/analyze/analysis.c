/* analysis.c: opening runs, and the questions that most tables ask. */
#include "analyze/analyze.h"
#include "analyze/kinds.h"
#include "base/fs.h"
#include "base/mem.h"
#include "verify/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a run ---- */

/* Marks the tasks whose kernel the reviewer refused at the end: it does not
 * count. The caller frees it. */
static bool *doubted_tasks(const struct run_view *v)
{
    bool *doubted = xcalloc(v->tasks + 1, sizeof(*doubted));

    for (size_t i = 0; i < v->entries; i++) {
        const struct row_entry *x = &v->entry[i].row;

        if (v->entry[i].left && x->task >= 0 && (size_t)x->task < v->tasks &&
            strcmp(x->origin, "run") == 0)
            doubted[x->task] = true;
    }
    return doubted;
}

static const char *level_of(const char *id, struct arena *a)
{
    const char *slash = strchr(id, '/');

    return slash ? arena_strndup(a, id, (size_t)(slash - id)) : "";
}

static void add_task(struct analysis *a, struct analyze_run *r,
                     const struct run_task *t, bool doubted)
{
    struct analyze_task *x = &r->task[r->tasks++];

    *x = (struct analyze_task){.task = t,
                               .level = level_of(t->row.id, &a->memory)};
    map_set(&r->by_id, str_of(t->row.id), x);
    for (size_t i = 0; i < t->attempts; i++) {
        const struct run_attempt *at = &t->attempt[i];

        if (at->row.solved && !doubted) {
            x->correct++;
            if (!x->solved_at)
                x->solved_at = at->row.attempt;
        }
        if (at->verdict && at->verdict->compiled && !x->compiled_at)
            x->compiled_at = at->row.attempt;
    }
    r->solved += x->solved_at != 0;
    if (x->solved_at && !map_get(&r->solved_by_hash, str_of(t->row.hash)))
        map_set(&r->solved_by_hash, str_of(t->row.hash), x);
}

/* From what the attempts did: an option may have been changed since. */
static const char *retrieval_of(const struct run_view *v)
{
    bool similar = false, random = false, coverage = false;

    for (size_t i = 0; i < v->tasks; i++)
        for (size_t k = 0; k < v->task[i].attempts; k++) {
            const char *s = v->task[i].attempt[k].row.retrieval;

            similar |= s && strcmp(s, "similar") == 0;
            random |= s && strcmp(s, "random") == 0;
            coverage |= s && strcmp(s, "coverage") == 0;
        }
    return coverage            ? "coverage"
           : similar && random ? "alternating"
           : similar           ? "similar"
           : random            ? "random"
                               : "";
}

static void read_run(struct analysis *a, struct analyze_run *r)
{
    struct run_view *v = &r->view;
    int64_t most = 0, least = INT64_MAX, allowed = 0;
    bool *doubted = doubted_tasks(v);

    r->method = run_view_fact(v, "method");
    r->model = run_view_fact(v, "model");
    r->dsl = run_view_fact(v, "dsl");
    r->retrieval = retrieval_of(v);
    map_init(&r->by_id);
    map_init(&r->solved_by_hash);
    map_init(&r->words);
    map_init(&r->names);
    arena_init(&r->memory);
    r->task = arena_alloc(&a->memory, (v->tasks + 1) * sizeof(*r->task));
    for (size_t i = 0; i < v->tasks; i++) {
        int64_t n = (int64_t)v->task[i].attempts;

        if (v->task[i].row.skipped) {
            r->skipped++;
            continue;
        }
        add_task(a, r, &v->task[i], doubted[i]);
        most = n > most ? n : most;
        least = n < least ? n : least;
    }
    for (size_t i = 0; i < v->entries; i++)
        r->seeds += strcmp(v->entry[i].row.origin, "run") != 0;
    r->attempts =
        str_to_i64(str_of(run_view_fact(v, "attempts")), 1, INT64_MAX, &allowed)
            ? allowed
            : most;
    r->full = r->tasks && least == most && most == r->attempts;
    free(doubted);
}

/* ---- all of them ---- */

static bool name_is_taken(const struct analysis *a, const char *name)
{
    for (size_t i = 0; i < a->runs; i++)
        if (strcmp(a->run[i].name, name) == 0)
            return true;
    return false;
}

static const char *name_run(struct analysis *a, const char *dir)
{
    size_t n = strlen(dir), from;
    const char *base, *name;

    while (n > 1 && dir[n - 1] == '/')
        n--;
    for (from = n; from > 0 && dir[from - 1] != '/'; from--)
        ;
    base = name = arena_strndup(&a->memory, dir + from, n - from);
    for (int i = 2; name_is_taken(a, name); i++)
        name = arena_printf(&a->memory, "%s-%d", base, i);
    return name;
}

int analysis_open(struct analysis *a, const char *const *dir, size_t n,
                  struct err *e)
{
    *a = (struct analysis){.rounds = 10000};
    arena_init(&a->memory);
    a->run = xcalloc(n, sizeof(*a->run));
    for (size_t i = 0; i < n; i++) {
        struct analyze_run *r = &a->run[a->runs];

        if (run_view_open(dir[i], &r->view, e) < 0) {
            analysis_close(a);
            return -1;
        }
        r->name = name_run(a, dir[i]);
        read_run(a, r);
        a->runs++;
    }
    return 0;
}

void analysis_close(struct analysis *a)
{
    for (size_t i = 0; i < a->runs; i++) {
        map_release(&a->run[i].by_id);
        map_release(&a->run[i].solved_by_hash);
        map_release(&a->run[i].words);
        map_release(&a->run[i].names);
        arena_release(&a->run[i].memory);
        run_view_close(&a->run[i].view);
    }
    free(a->run);
    arena_release(&a->memory);
    *a = (struct analysis){0};
}

/* ---- questions ---- */

static double speedup_of(const struct run_attempt *a, const char *over)
{
    const char *times = a->verdict ? a->verdict->times : NULL;
    json_t *record = times ? json_loads(times, 0, NULL) : NULL;
    double x = verdict_speedup(record, over);

    json_decref(record);
    return x;
}

double analyze_speedup(const struct analyze_task *t, int64_t attempt,
                       const char *over)
{
    double best = (double)NAN;

    for (size_t i = 0; t->solved_at && i < t->task->attempts; i++) {
        const struct run_attempt *a = &t->task->attempt[i];

        if (a->row.solved && a->row.attempt <= attempt)
            best = fmax(best, speedup_of(a, over)); /* ignores NaN */
    }
    return best;
}

size_t analyze_solved(const struct analyze_run *r, int64_t attempts)
{
    size_t n = 0;

    for (size_t i = 0; i < r->tasks; i++)
        n += r->task[i].solved_at && r->task[i].solved_at <= attempts;
    return n;
}

const struct run_attempt *analyze_solution(const struct analyze_task *t)
{
    for (size_t i = 0; t->solved_at && i < t->task->attempts; i++)
        if (t->task->attempt[i].row.attempt == t->solved_at)
            return &t->task->attempt[i];
    return NULL;
}

/* ---- the list ---- */

#define KIND_ENTRY(name, what) {#name, what, kind_##name},
const struct analyze_kind analyze_kinds[] = {ANALYZE_KINDS(KIND_ENTRY){0}};

int analyze_fill(const struct analyze_kind *k, struct analysis *a,
                 struct table *out, struct err *e)
{
    table_init(out, k->name, k->what);
    if (k->fill(a, out, e) == 0)
        return 0;
    table_release(out);
    return -1;
}

void kind_run_columns(struct table *t)
{
    static const char *const names[] = {"run", "language", "model", "method",
                                        NULL};

    table_columns(t, names);
}

void kind_run_cells(struct table *t, const struct analyze_run *r)
{
    table_text(t, r->name);
    table_text(t, r->dsl);
    table_text(t, r->model);
    table_text(t, r->method);
}
