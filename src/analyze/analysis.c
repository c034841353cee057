/* analysis.c: opening runs, and filling tables of them. */
#include "analyze/analyze.h"
#include "analyze/kinds.h"
#include "base/fs.h"
#include "base/mem.h"
#include "store/lock.h"

#include <stdlib.h>
#include <string.h>

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

static int open_all(struct analysis *a, const char *const *dir, size_t n,
                    struct err *e)
{
    struct merged_run *m = arena_alloc(&a->memory, n * sizeof(*m));

    for (size_t i = 0; i < n; i++) {
        struct analyze_run *r = &a->run[i];
        char *file = fs_join(dir[i], "run.db");

        r->store = store_open(file, STORE_READ, NULL, e);
        free(file);
        if (!r->store)
            return -1;
        r->dir = dir[i];
        r->name = name_run(a, dir[i]);
        m[a->runs++] =
            (struct merged_run){r->store, r->dir, r->name, lock_owner(r->dir)};
    }
    a->merged = merged_new(m, n, e);
    return a->merged ? 0 : -1;
}

int analysis_open(struct analysis *a, const char *const *dir, size_t n,
                  struct err *e)
{
    *a = (struct analysis){0};
    arena_init(&a->memory);
    a->run = xcalloc(n, sizeof(*a->run));
    if (open_all(a, dir, n, e) == 0)
        return 0;
    analysis_close(a);
    return -1;
}

/* ---- a run as a whole ---- */

static void on_task(const char *solved_at, int64_t ord, void *arg)
{
    struct analyze_run *r = arg;
    struct analyze_task *x = &r->task[r->tasks++];

    x->task = &r->view.task[ord];
    str_to_i64(str_of(solved_at), 1, INT64_MAX, &x->solved_at);
    r->solved += x->solved_at != 0;
    if (x->solved_at && !map_get(&r->solved_by_hash, str_of(x->task->row.hash)))
        map_set(&r->solved_by_hash, str_of(x->task->row.hash), x);
}

static int read_run(struct analysis *a, struct analyze_run *r, struct err *e)
{
    int64_t nr = r - a->run;
    struct run_view *v = &r->view;

    if (run_view_read(r->store, r->dir, v, e) < 0)
        return -1;
    arena_init(&r->memory);
    map_init(&r->solved_by_hash);
    map_init(&r->words);
    map_init(&r->names);
    r->read = true;
    r->method = run_view_fact(v, "method");
    r->model = run_view_fact(v, "model");
    r->dsl = run_view_fact(v, "dsl");
    r->task = arena_alloc(&r->memory, (v->tasks + 1) * sizeof(*r->task));
    return merged_each(a->merged, "subjects", nr, on_task, r, e);
}

int analysis_read(struct analysis *a, struct err *e)
{
    /* Of no run: merges first, so that the views have all attempts that solved. */
    if (merged_each(a->merged, "subjects", -1, NULL, NULL, e) < 0)
        return -1;
    for (size_t i = 0; i < a->runs; i++)
        if (!a->run[i].read && read_run(a, &a->run[i], e) < 0)
            return -1;
    return 0;
}

void analysis_close(struct analysis *a)
{
    struct err late = ERR_INIT;

    for (size_t i = 0; i < a->runs; i++) {
        struct analyze_run *r = &a->run[i];

        if (r->read) {
            map_release(&r->solved_by_hash);
            map_release(&r->words);
            map_release(&r->names);
            arena_release(&r->memory);
            run_view_close(&r->view);
        }
        store_close(r->store, &late);
    }
    free(a->run);
    merged_free(a->merged);
    arena_release(&a->memory);
    *a = (struct analysis){0};
}

const struct run_attempt *analyze_solution(const struct analyze_task *t)
{
    for (size_t i = 0; t->solved_at && i < t->task->attempts; i++)
        if (t->task->attempt[i].row.attempt == t->solved_at)
            return &t->task->attempt[i];
    return NULL;
}

/* ---- the list ---- */

#define SQL_ENTRY(name, what) {#name, what, NULL},
#define C_ENTRY(name, what)   {#name, what, kind_##name},
const struct analyze_kind analyze_kinds[] = {
    ANALYZE_KINDS(SQL_ENTRY, C_ENTRY){0}};

int analyze_fill(const struct analyze_kind *k, struct analysis *a,
                 struct table *out, struct err *e)
{
    int rc;

    table_init(out, k->name, k->what);
    if (!k->fill)
        rc = merged_table(a->merged, k->name, out, e);
    else
        rc = analysis_read(a, e) < 0 ? -1 : k->fill(a, out, e);
    if (rc < 0)
        table_release(out);
    return rc;
}
