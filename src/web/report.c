/* report.c: the page with all its data inside. */
#include "web/report.h"

#include "analyze/views.h"
#include "base/mem.h"
#include "web/page.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- details ---- */

struct details {
    json_t *tasks; /* "RUN/ID" to the task, with its details by attempt */
    size_t bytes, limit;
    int64_t kept; /* attempts */
};

/* What it takes in the file, roughly: escapes are longer. */
static size_t size_of(const json_t *j)
{
    return json_dumpb(j, NULL, 0, JSON_COMPACT) * 11 / 10;
}

/* Prompts repeat the guide and the examples: `show --prompt` has them. */
static void drop_prompts(json_t *attempt)
{
    json_t *call;
    size_t i;

    json_array_foreach(json_object_get(attempt, "calls"), i, call)
        json_object_del(call, "prompt");
}

/* The parts that belong to one attempt go into an object of their own. */
static json_t *take_detail(json_t *task)
{
    static const char *const parts[] = {"attempt", "before", "diff"};
    json_t *detail = json_object();

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        json_object_set(detail, parts[i], json_object_get(task, parts[i]));
        json_object_del(task, parts[i]);
    }
    return detail;
}

/* Adds the task itself, unless it is there. */
static json_t *add_task(struct details *d, const char *key, json_t *task,
                        int64_t best)
{
    json_t *known = json_object_get(d->tasks, key);

    if (known)
        return known;
    json_object_set_new(task, "best", json_integer(best));
    json_object_set_new(task, "details", json_object());
    json_object_set(d->tasks, key, task);
    return task;
}

/* 1 when it is in, 0 when it did not fit. */
static int add_attempt(struct details *d, struct run_view *v, size_t run,
                       struct run_task *t, int64_t number, struct err *e)
{
    json_t *task = views_task(v, t, number, e), *detail;
    char *key, name[32];
    size_t size;
    bool fits;

    if (!task)
        return -1;
    key = xasprintf("%zu/%s", run, t->row.id);
    detail = take_detail(task);
    drop_prompts(json_object_get(detail, "attempt"));
    size =
        size_of(detail) + (json_object_get(d->tasks, key) ? 0 : size_of(task));
    fits = d->bytes + size <= d->limit;
    if (fits) {
        snprintf(name, sizeof(name), "%lld", (long long)number);
        json_object_set(
            json_object_get(add_task(d, key, task, number), "details"), name,
            detail);
        d->bytes += size;
        d->kept++;
    }
    json_decref(detail);
    json_decref(task);
    free(key);
    return fits;
}

enum pass { BEST_SOLVED, BEST_UNSOLVED, OTHERS, PASSES };

static bool belongs(const struct run_task *t, const struct run_attempt *a,
                    enum pass pass)
{
    const struct run_attempt *best = run_task_best(t);

    if (pass == OTHERS)
        return a != best;
    return a == best && best->row.solved == (pass == BEST_SOLVED);
}

/* A few that do not fit may be large; many mean that it is full. */
#define MISFITS 20

static int add_pass(struct details *d, struct run_view *v, size_t run,
                    enum pass pass, struct err *e)
{
    int misfits = 0;

    for (size_t i = 0; i < v->tasks; i++) {
        struct run_task *t = &v->task[i];

        for (size_t k = 0; k < t->attempts && misfits < MISFITS; k++) {
            int rc =
                belongs(t, &t->attempt[k], pass)
                    ? add_attempt(d, v, run, t, t->attempt[k].row.attempt, e)
                    : 1;

            if (rc < 0)
                return -1;
            misfits += rc == 0;
        }
    }
    return 0;
}

/* Solved tasks leave room for others: failures are worth a look, too. */
static int add_details(struct details *d, struct run_view *const *runs,
                       size_t n, struct err *e)
{
    for (enum pass p = 0; p < PASSES; p++) {
        d->limit = p == BEST_SOLVED ? REPORT_DETAILS / 5 * 3 : REPORT_DETAILS;
        for (size_t i = 0; i < n; i++)
            if (add_pass(d, runs[i], i, p, e) < 0)
                return -1;
    }
    return 0;
}

static json_t *left_out(const struct details *d, struct run_view *const *runs,
                        size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < runs[i]->tasks; k++)
            all += (int64_t)runs[i]->task[k].attempts;
    return json_pack("{s:I, s:I}", "attempts", (json_int_t)(all - d->kept),
                     "kept", (json_int_t)d->kept);
}

/* ---- the document ---- */

int report_html(struct run_view *const *runs, size_t n, struct buf *out,
                struct err *e)
{
    json_t *data = json_object();
    struct details d = {.tasks = json_object()};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < VIEWS; i++) {
        json_t *made = views_all[i].make(runs, n, e);

        rc = made ? json_object_set_new(data, views_all[i].name, made) : -1;
    }
    if (rc == 0)
        rc = add_details(&d, runs, n, e);
    if (rc == 0) {
        json_object_set(data, "tasks", d.tasks);
        json_object_set_new(data, "left_out", left_out(&d, runs, n));
        page_put(data, out);
    }
    json_decref(d.tasks);
    json_decref(data);
    return rc;
}
