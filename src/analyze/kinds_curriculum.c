/* kinds_curriculum.c: runs with and without pieces, as in Table 11. */
#include "analyze/kinds.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct pieces {
    int64_t total, tried, solved;
};

/* Those that the gate skipped take no part. */
static struct pieces count_pieces(const struct run_view *v)
{
    struct pieces p = {0};

    for (size_t i = v->tasks; i < v->all; i++) {
        const struct run_task *t = &v->task[i];
        bool solved = false;

        if (t->row.skipped)
            continue;
        for (size_t k = 0; k < t->attempts; k++)
            solved |= t->attempt[k].row.solved;
        p.total++;
        p.tried += t->attempts > 0;
        p.solved += solved;
    }
    return p;
}

/* "monolithic", or the levels of the pieces, coarse ones first. */
static const char *setting_of(const struct run_view *v, struct arena *a)
{
    static const char *const levels[] = {"coarse", "medium", "fine"};
    const char *text = NULL;

    for (size_t k = 0; k < sizeof(levels) / sizeof(levels[0]); k++)
        for (size_t i = v->tasks; i < v->all; i++)
            if (v->task[i].row.level &&
                strcmp(v->task[i].row.level, levels[k]) == 0) {
                text = text ? arena_printf(a, "%s, %s", text, levels[k])
                            : levels[k];
                break;
            }
    return text ? text : v->all > v->tasks ? "pieces" : "monolithic";
}

/* ---- the tasks of all runs ---- */

struct ids {
    const char **id;
    size_t len;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct ids all_ids(const struct analysis *a)
{
    struct ids ids = {0};
    size_t n = 0;

    for (size_t i = 0; i < a->runs; i++)
        n += a->run[i].tasks;
    ids.id = xcalloc(n + 1, sizeof(*ids.id));
    n = 0;
    for (size_t i = 0; i < a->runs; i++)
        for (size_t k = 0; k < a->run[i].tasks; k++)
            ids.id[n++] = a->run[i].task[k].task->row.id;
    if (n)
        qsort(ids.id, n, sizeof(*ids.id), by_name);
    for (size_t i = 0; i < n; i++)
        if (!ids.len || strcmp(ids.id[ids.len - 1], ids.id[i]) != 0)
            ids.id[ids.len++] = ids.id[i];
    return ids;
}

static bool is_solved(const struct analyze_run *r, const char *id)
{
    const struct analyze_task *t = map_get(&r->by_id, str_of(id));

    return t && t->solved_at;
}

/* A task that no run has solved has no column of its own. */
static bool has_column(const struct analysis *a, const char *id)
{
    for (size_t i = 0; i < a->runs; i++)
        if (is_solved(&a->run[i], id))
            return true;
    return false;
}

static void put_run(struct table *t, struct analysis *a,
                    const struct analyze_run *r, const struct ids *ids)
{
    const struct run_view *v = &r->view;
    struct pieces p = count_pieces(v);

    kind_run_cells(t, r);
    table_int(t, r->seeds);
    table_text(t, setting_of(v, &a->memory));
    if (v->all > v->tasks) {
        table_int(t, p.total);
        table_int(t, p.solved);
    } else {
        table_empty(t);
        table_empty(t);
    }
    table_int(t, (int64_t)r->tasks);
    table_int(t, (int64_t)r->solved);
    for (size_t i = 0; i < ids->len; i++)
        if (has_column(a, ids->id[i]))
            table_text(t, is_solved(r, ids->id[i]) ? "yes" : NULL);
    if (p.tried < p.total)
        table_note(t, "%s: %lld of its pieces were never tried", r->name,
                   (long long)(p.total - p.tried));
}

int kind_curriculum(struct analysis *a, struct table *t, struct err *e)
{
    static const char *const names[] = {
        "kernels at the start", "setting", "pieces", "pieces solved", "tasks",
        "tasks solved",         NULL};
    struct ids ids = all_ids(a);
    size_t others = 0;

    (void)e;
    kind_run_columns(t);
    table_columns(t, names);
    for (size_t i = 0; i < ids.len; i++) {
        if (has_column(a, ids.id[i]))
            table_column(t, ids.id[i]);
        else
            others++;
    }
    for (size_t i = 0; i < a->runs; i++)
        put_run(t, a, &a->run[i], &ids);
    if (others)
        table_note(t, "%zu other task%s solved by none of the runs", others,
                   others == 1 ? " was" : "s were");
    free(ids.id);
    return 0;
}
