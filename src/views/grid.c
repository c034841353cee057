/* grid.c: tasks x attempts, small enough for a page to sort and filter. */
#include "views/views_int.h"

#include "base/map.h"
#include "base/str.h"
#include "run/summary.h"

#include <string.h>

#define MOST_ATTEMPTS 10000

/* One letter per attempt, from attempt 1: 'a' is verdicts[0]; '-' is missing. */
static json_t *letters(const struct run_task *t)
{
    struct buf b;
    json_t *text;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < t->attempts; i++) {
        const struct row_attempt *r = &t->attempt[i].row;
        enum verdict v = verdict_of(r->verdict);

        while (b.len < MOST_ATTEMPTS && (int64_t)b.len + 1 < r->attempt)
            buf_putc(&b, '-');
        buf_putc(&b, v < VERDICTS ? (char)('a' + (int)v) : '-');
    }
    text = json_stringn(buf_str(&b), b.len);
    buf_release(&b);
    return text;
}

/* Numbers of the operators in a list that all tasks share. */
static json_t *operators(const struct run_task *t, struct map *known)
{
    struct str rest = str_of(t->row.ops ? t->row.ops : ""), op;
    json_t *list = json_array();
    bool more = rest.n > 0;

    while (more) {
        uintptr_t at;

        more = str_cut(&rest, '\n', &op);
        op = more ? op : rest;
        if (!op.n)
            continue;
        at = (uintptr_t)map_get(known, op);
        if (!at) {
            at = known->len + 1;
            map_set(known, op, (void *)at);
        }
        json_array_append_new(list, json_integer((json_int_t)at - 1));
    }
    return list;
}

/* The first part of an id: "L1/19" is of L1. */
static json_t *level(const char *id)
{
    size_t n = strcspn(id, "/");

    return jsn_text(id, id[n] ? n : 0);
}

/* A record that cannot be read is an error of the views that show it. */
static bool is_doubted(struct run_view *v, struct run_attempt *best)
{
    struct err ignored = ERR_INIT;
    const char *doubt = run_view_doubt(v, best, &ignored);

    return doubt && doubt[0];
}

static json_t *row(struct run_view *v, const struct run_task *t,
                   struct map *known)
{
    struct run_attempt *best = run_task_best(t);
    int64_t solved_at = summary_solved_at(t);

    return json_pack(
        "[o, o, s, o, o, I, o, o, i]", views_text(t->row.id), level(t->row.id),
        views_family(t->row.ops), operators(t, known), letters(t),
        (json_int_t)solved_at,
        solved_at && best ? views_real(summary_speedup(best)) : json_null(),
        views_text(t->row.skipped), solved_at && best && is_doubted(v, best));
}

/* The tasks that changed after version `since`; -1: all, without places. */
static json_t *one_run(struct run_view *v, int64_t since)
{
    json_t *tasks = json_array(), *names = json_array(),
           *places = since < 0 ? NULL : json_array();
    struct map known;

    map_init(&known);
    for (size_t i = 0; i < v->tasks; i++) {
        if (v->task[i].version <= since)
            continue;
        json_array_append_new(tasks, row(v, &v->task[i], &known));
        if (places)
            json_array_append_new(places, json_integer((json_int_t)i));
    }
    for (size_t i = 0; i < known.len; i++)
        json_array_append_new(
            names, jsn_text(known.items[i].key, known.items[i].key_len));
    map_release(&known);
    return json_pack("{s:I, s:I, s:o, s:o*, s:o}", "version",
                     (json_int_t)v->version, "count", (json_int_t)v->tasks,
                     "operators", names, "places", places, "tasks", tasks);
}

json_t *views_grid_since(struct run_view *const *runs, size_t n,
                         const int64_t *since)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, one_run(runs[i], since ? since[i] : -1));
    return json_pack("{s:[s, s, s, s, s, s, s, s, s], s:o}", "columns", "task",
                     "level", "family", "operators", "verdicts", "solved_at",
                     "speedup", "skipped", "doubt", "runs", list);
}

json_t *views_grid(struct run_view *const *runs, size_t n, struct err *e)
{
    (void)e;
    return views_grid_since(runs, n, NULL);
}
