/* report.c: the page with all its data inside; and runs as Markdown. */
#include "web/report.h"

#include "analyze/table.h"
#include "analyze/views.h"
#include "base/mem.h"
#include "io/term.h"
#include "run/summary.h"
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
static size_t report_size_of(const json_t *j)
{
    return json_dumpb(j, NULL, 0, JSON_COMPACT) * 11 / 10;
}

/* Prompts repeat the guide and the examples: `show --prompt` has them. */
static void report_drop_prompts(json_t *attempt)
{
    json_t *call;
    size_t i;

    json_array_foreach(json_object_get(attempt, "calls"), i, call)
        json_object_del(call, "prompt");
}

/* 1 when it is in, 0 when it did not fit. */
static int report_add_attempt(struct details *d, struct run_view *v, size_t run,
                              struct run_task *t, int64_t number, struct err *e)
{
    char *key = xasprintf("%zu/%s", run, t->row.id), name[32];
    json_t *known = json_object_get(d->tasks, key),
           *task = known ? json_incref(known) : views_lines(v, t, e),
           *detail = task ? views_attempt(v, t, number, e) : NULL;
    size_t size;
    int rc = -1;

    if (detail) {
        report_drop_prompts(json_object_get(detail, "attempt"));
        size = report_size_of(detail) + (known ? 0 : report_size_of(task));
        rc = d->bytes + size <= d->limit;
    }
    if (rc > 0 && !known) {
        json_object_set_new(task, "best", json_integer(number));
        json_object_set_new(task, "details", json_object());
        json_object_set(d->tasks, key, task);
    }
    if (rc > 0) {
        snprintf(name, sizeof(name), "%lld", (long long)number);
        json_object_set(json_object_get(task, "details"), name, detail);
        d->bytes += size;
        d->kept++;
    }
    json_decref(detail);
    json_decref(task);
    free(key);
    return rc;
}

enum pass { BEST_SOLVED, BEST_UNSOLVED, OTHERS, PASSES };

static bool report_belongs(const struct run_task *t,
                           const struct run_attempt *a, enum pass pass)
{
    const struct run_attempt *best = run_task_best(t);

    if (pass == OTHERS)
        return a != best;
    return a == best && best->row.solved == (pass == BEST_SOLVED);
}

/* A few that do not fit may be large; many mean that it is full. */
#define MISFITS 20

static int report_add_pass(struct details *d, struct run_view *v, size_t run,
                           enum pass pass, struct err *e)
{
    int misfits = 0;

    for (size_t i = 0; i < v->tasks; i++) {
        struct run_task *t = &v->task[i];

        for (size_t k = 0; k < t->attempts && misfits < MISFITS; k++) {
            int rc = report_belongs(t, &t->attempt[k], pass)
                         ? report_add_attempt(d, v, run, t,
                                              t->attempt[k].row.attempt, e)
                         : 1;

            if (rc < 0)
                return -1;
            misfits += rc == 0;
        }
    }
    return 0;
}

/* Solved tasks leave room for others: failures are worth a look, too. */
static int report_add_details(struct details *d, struct run_view *const *runs,
                              size_t n, struct err *e)
{
    for (enum pass p = 0; p < PASSES; p++) {
        d->limit = p == BEST_SOLVED ? REPORT_DETAILS / 5 * 3 : REPORT_DETAILS;
        for (size_t i = 0; i < n; i++) {
            int rc = store_hold(runs[i]->store, e);

            if (rc == 0) {
                rc = report_add_pass(d, runs[i], i, p, e);
                store_let_go(runs[i]->store);
            }
            if (rc < 0)
                return -1;
        }
    }
    return 0;
}

static json_t *report_left_out(const struct details *d,
                               struct run_view *const *runs, size_t n)
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
        rc = report_add_details(&d, runs, n, e);
    if (rc == 0) {
        json_object_set(data, "tasks", d.tasks);
        json_object_set_new(data, "left_out", report_left_out(&d, runs, n));
        page_put(data, out);
    }
    json_decref(d.tasks);
    json_decref(data);
    return rc;
}

/* ---- Markdown ---- */

/* A sentence of ours with names of others in it: only these may become code. */
static void report_put_sentence(const char *s, struct buf *out)
{
    struct str rest = str_of(s), word;

    while (str_part(&rest, ' ', &word)) {
        char *one = xstrndup(word.p, word.n);

        table_put_md(one, out);
        buf_puts(out, rest.p ? " " : "");
        free(one);
    }
}

/* Releases the table; one without rows is not there. */
static void report_put_table(const char *title, struct table *t,
                             struct buf *out)
{
    if (table_rows(t)) {
        buf_printf(out, "\n%s\n\n", title);
        table_print(t, TABLE_MD, out);
    }
    table_release(t);
}

static void report_put_runs(const json_t *runs, struct buf *out)
{
    static const char *const texts[] = {"label", "model", "dsl", "device",
                                        "state"};
    struct table t;
    struct buf b = BUF_INIT;
    const json_t *r;
    size_t i;

    table_init(&t, NULL, NULL);
    table_columns(
        &t, "run|model|language|device|state|solved|attempts|tokens|cost|time");
    json_array_foreach(runs, i, r)
    {
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
            table_text(&t, jsn_str(r, texts[k]));
        headline_number(jsn_int(r, "solved"), &b);
        buf_puts(&b, " of ");
        headline_number(jsn_int(r, "tasks") - jsn_int(r, "skipped"), &b);
        table_figure(&t, "%s", buf_str(&b));
        buf_reset(&b);
        headline_number(jsn_int(r, "attempts"), &b);
        table_figure(&t, "%s", buf_str(&b));
        buf_reset(&b);
        headline_number(jsn_int(r, "tokens_in") + jsn_int(r, "tokens_out"), &b);
        table_figure(&t, "%s", buf_str(&b));
        buf_reset(&b);
        headline_usd(jsn_int(r, "usd_micro"), &b);
        table_figure(&t, "%s", buf_str(&b));
        buf_reset(&b);
        headline_time(jsn_num(r, "seconds"), &b);
        table_figure(&t, "%s", buf_str(&b));
        buf_reset(&b);
    }
    table_print(&t, TABLE_MD, out);
    table_release(&t);
    buf_release(&b);
}

#define POINTS  12  /* of the curve */
#define COLUMNS 120 /* of an error */

/* The k-th of the columns shows this many attempts per task. */
static size_t report_attempts_at(size_t k, size_t columns, size_t most)
{
    return columns < 2 ? most : 1 + k * (most - 1) / (columns - 1);
}

static void report_put_curve(const json_t *runs, struct buf *out)
{
    size_t most = 0, columns, i;
    struct table t;
    const json_t *r;

    json_array_foreach(runs, i, r)
    {
        size_t len = json_array_size(json_object_get(r, "by_attempt"));

        most = len > most ? len : most;
    }
    columns = most < POINTS ? most : POINTS;
    table_init(&t, NULL, NULL);
    table_column(&t, "run");
    for (size_t k = 0; k < columns; k++) {
        char name[32];

        snprintf(name, sizeof(name), "%zu",
                 report_attempts_at(k, columns, most));
        table_column(&t, name);
    }
    json_array_foreach(runs, i, r)
    {
        const json_t *curve = json_object_get(r, "by_attempt");

        if (!columns)
            break;
        table_text(&t, jsn_str(r, "label"));
        for (size_t k = 0; k < columns; k++) {
            const json_t *n =
                json_array_get(curve, report_attempts_at(k, columns, most) - 1);

            if (n)
                table_int(&t, json_integer_value(n));
            else
                table_empty(&t);
        }
    }
    report_put_table("Tasks solved within a number of attempts per task:", &t,
                     out);
}

static void report_put_unsolved(const json_t *runs, struct buf *out)
{
    const json_t *r, *x;
    size_t i, k;

    json_array_foreach(runs, i, r)
    {
        const json_t *why = json_object_get(r, "unsolved");
        struct buf title = BUF_INIT, error = BUF_INIT;
        struct table t;

        buf_puts(&title, "Why tasks are unsolved");
        if (json_array_size(runs) > 1) {
            buf_puts(&title, " with ");
            table_put_md(jsn_str(r, "label"), &title);
        }
        buf_puts(&title, ", by the error of their last attempt:");
        table_init(&t, NULL, NULL);
        table_columns(&t, "tasks|verdict|error");
        json_array_foreach(json_object_get(why, "errors"), k, x)
        {
            buf_reset(&error);
            term_cut(jsn_str(x, "error"), COLUMNS, &error);
            table_int(&t, jsn_int(x, "tasks"));
            table_text(&t, jsn_str(x, "verdict"));
            table_text(&t, buf_str(&error));
        }
        report_put_table(buf_str(&title), &t, out);
        buf_release(&title);
        buf_release(&error);
    }
}

/* Kernels whose time is hard to believe, with the reason. */
static int report_put_implausible(struct run_view *const *runs,
                                  const json_t *list, struct buf *out,
                                  struct err *e)
{
    struct table t;
    int rc = 0;

    table_init(&t, NULL, NULL);
    table_columns(&t, "run|task|attempt|speed-up|why");
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++)
        for (size_t k = 0; rc == 0 && k < runs[i]->tasks; k++) {
            const struct run_task *x = &runs[i]->task[k];
            struct run_attempt *a = run_task_best(x);
            const char *why =
                a && a->row.solved ? run_view_doubt(runs[i], a, e) : "";

            rc = why ? 0 : -1;
            if (!why || !why[0])
                continue;
            table_text(&t, jsn_str(json_array_get(list, i), "label"));
            table_text(&t, x->row.id);
            table_int(&t, a->row.attempt);
            table_figure(&t, "%.2fx", summary_speedup(a));
            table_text(&t, why);
        }
    report_put_table("Speed-ups that are hard to believe:", &t, out);
    return rc;
}

int report_md(struct run_view *const *runs, size_t n, struct buf *out,
              struct err *e)
{
    json_t *j = views_overview(runs, n, e);
    const json_t *list = json_object_get(j, "runs");
    int rc;

    if (!j)
        return -1;
    report_put_sentence(jsn_str(j, "headline"), out);
    buf_puts(out, "\n\n");
    report_put_runs(list, out);
    report_put_curve(list, out);
    report_put_unsolved(list, out);
    rc = report_put_implausible(runs, list, out, e);
    json_decref(j);
    return rc;
}
