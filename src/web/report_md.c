/* report_md.c: runs as Markdown. */
#include "web/report.h"

#include "analyze/overview.h"
#include "analyze/table.h"
#include "analyze/views.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/term.h"
#include "run/summary.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 120 /* of a text in a table */

/* Text that stays text. */
static void put_text(const char *s, size_t columns, struct buf *out)
{
    struct buf clean;

    buf_init(&clean, BUF_UNLIMITED);
    term_cut(s, columns, &clean);
    table_put_md(buf_str(&clean), out);
    buf_release(&clean);
}

/* A sentence of ours with names of others in it: only these may become code. */
static void put_sentence(const char *s, struct buf *out)
{
    struct str rest = str_of(s), word;
    bool more = true;

    while (more) {
        char *one;

        more = str_cut(&rest, ' ', &word);
        one = xstrndup(more ? word.p : rest.p, more ? word.n : rest.n);
        put_text(one, SIZE_MAX, out);
        buf_puts(out, more ? " " : "");
        free(one);
    }
}

static json_int_t number_in(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

static void put_cell(const json_t *j, const char *key, struct buf *out)
{
    buf_puts(out, " | ");
    put_text(jsn_str(j, key), COLUMNS, out);
}

static void put_runs(const json_t *runs, struct buf *out)
{
    const json_t *r;
    size_t i;

    buf_puts(out, "| run | model | language | device | state | solved | "
                  "attempts | tokens | cost | time |\n"
                  "|---|---|---|---|---|---:|---:|---:|---:|---:|\n");
    json_array_foreach(runs, i, r)
    {
        buf_puts(out, "| ");
        put_text(jsn_str(r, "label"), COLUMNS, out);
        put_cell(r, "model", out);
        put_cell(r, "dsl", out);
        put_cell(r, "device", out);
        put_cell(r, "state", out);
        buf_puts(out, " | ");
        headline_number(number_in(r, "solved"), out);
        buf_puts(out, " of ");
        headline_number(number_in(r, "tasks") - number_in(r, "skipped"), out);
        buf_puts(out, " | ");
        headline_number(number_in(r, "attempts"), out);
        buf_puts(out, " | ");
        headline_number(number_in(r, "tokens_in") + number_in(r, "tokens_out"),
                        out);
        buf_puts(out, " | ");
        headline_usd(number_in(r, "usd_micro"), out);
        buf_puts(out, " | ");
        headline_time(json_number_value(json_object_get(r, "seconds")), out);
        buf_puts(out, " |\n");
    }
}

#define POINTS 12 /* of the curve */

/* The k-th of the columns shows this many attempts per task. */
static size_t attempts_at(size_t k, size_t columns, size_t most)
{
    return columns < 2 ? most : 1 + k * (most - 1) / (columns - 1);
}

static void put_curve(const json_t *runs, struct buf *out)
{
    size_t most = 0, columns, i;
    const json_t *r;

    json_array_foreach(runs, i, r)
    {
        size_t len = json_array_size(json_object_get(r, "by_attempt"));

        most = len > most ? len : most;
    }
    columns = most < POINTS ? most : POINTS;
    if (!columns)
        return;
    buf_puts(out, "\nTasks solved within a number of attempts per task:\n\n|");
    for (size_t k = 0; k < columns; k++)
        buf_printf(out, " | %zu", attempts_at(k, columns, most));
    buf_puts(out, " |\n|---");
    for (size_t k = 0; k < columns; k++)
        buf_puts(out, "|---:");
    buf_puts(out, "|\n");
    json_array_foreach(runs, i, r)
    {
        const json_t *by = json_object_get(r, "by_attempt");

        buf_puts(out, "| ");
        put_text(jsn_str(r, "label"), COLUMNS, out);
        for (size_t k = 0; k < columns; k++) {
            size_t at = attempts_at(k, columns, most);
            const json_t *n = json_array_get(by, at - 1);

            buf_puts(out, " | ");
            if (n)
                headline_number(json_integer_value(n), out);
        }
        buf_puts(out, " |\n");
    }
}

static void put_unsolved(const json_t *runs, struct buf *out)
{
    const json_t *r, *x;
    size_t i, k;

    json_array_foreach(runs, i, r)
    {
        const json_t *why = json_object_get(r, "unsolved");
        const json_t *errors = json_object_get(why, "errors");

        if (!json_array_size(errors))
            continue;
        buf_puts(out, "\nWhy tasks are unsolved");
        if (json_array_size(runs) > 1) {
            buf_puts(out, " with ");
            put_text(jsn_str(r, "label"), COLUMNS, out);
        }
        buf_puts(out, ", by the error of their last attempt:\n\n"
                      "| tasks | verdict | error |\n|---:|---|---|\n");
        json_array_foreach(errors, k, x)
        {
            buf_printf(out, "| %lld", (long long)number_in(x, "tasks"));
            put_cell(x, "verdict", out);
            put_cell(x, "error", out);
            buf_puts(out, " |\n");
        }
    }
}

/* Kernels whose time is hard to believe, with the reason. */
static int put_implausible(struct run_view *const *runs, const json_t *list,
                           struct buf *out, struct err *e)
{
    const char *head = "\nSpeed-ups that are hard to believe:\n\n"
                       "| run | task | attempt | speed-up | why |\n"
                       "|---|---|---:|---:|---|\n";

    for (size_t i = 0; i < json_array_size(list); i++)
        for (size_t k = 0; k < runs[i]->tasks; k++) {
            const struct run_task *t = &runs[i]->task[k];
            struct run_attempt *a = run_task_best(t);
            const char *why =
                a && a->row.solved ? run_view_doubt(runs[i], a, e) : "";

            if (!why)
                return -1;
            if (!why[0])
                continue;
            buf_puts(out, head);
            head = "";
            buf_puts(out, "| ");
            put_text(jsn_str(json_array_get(list, i), "label"), COLUMNS, out);
            buf_puts(out, " | ");
            put_text(t->row.id, COLUMNS, out);
            buf_printf(out, " | %lld | %.2fx | ", (long long)a->row.attempt,
                       summary_speedup(a));
            put_text(why, SIZE_MAX, out);
            buf_puts(out, " |\n");
        }
    return 0;
}

int report_md(struct run_view *const *runs, size_t n, struct buf *out,
              struct err *e)
{
    json_t *j = views_overview(runs, n, e);
    const json_t *list = json_object_get(j, "runs");
    int rc;

    if (!j)
        return -1;
    put_sentence(jsn_str(j, "headline"), out);
    buf_puts(out, "\n\n");
    put_runs(list, out);
    put_curve(list, out);
    put_unsolved(list, out);
    rc = put_implausible(runs, list, out, e);
    json_decref(j);
    return rc;
}
