/* cmd_status.c: monkeys status: the state of a run. */
#include "cmd/cmd.h"
#include "cmd/summaries.h"
#include "io/term.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct status_values {
    bool tasks, examples, workers, json;
};

static const struct opt status_table[] = {
    {"tasks", 0, OPT_FLAG, NULL,
     "one line per task: the best attempt, all verdicts, and why it is not "
     "solved",
     offsetof(struct status_values, tasks), 0, 0},
    {"examples", 0, OPT_FLAG, NULL,
     "one line per kernel in the archive: how often it was shown, and how "
     "often "
     "the attempt then succeeded",
     offsetof(struct status_values, examples), 0, 0},
    {"workers", 0, OPT_FLAG, NULL,
     "one line per worker that connected to the run: its state, its verdicts, "
     "and when it was last heard",
     offsetof(struct status_values, workers), 0, 0},
    {"json", 0, OPT_FLAG, NULL,
     "JSON Lines: one object per run, task, example or worker",
     offsetof(struct status_values, json), 0, 0},
    {0},
};

/* Names of tasks and kernels come from files: they cannot control the terminal. */
static void print_quoted(const struct buf *text)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    term_quote((struct str){buf_str(text), text->len}, SIZE_MAX, &b);
    fputs(buf_str(&b), stdout);
    buf_release(&b);
}

static void print_text(const struct summary *m, const char *dir, bool tasks)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (tasks) {
        summaries_table(m, &b);
        buf_putc(&b, '\n');
    } else {
        buf_printf(&b, "%s: ", dir);
        summaries_state(m, &b);
        buf_puts(&b, "; ");
    }
    summaries_line(m, &b);
    buf_putc(&b, '\n');
    summaries_unsolved(m, &b);
    summaries_proof(m, dir, &b);
    if (!tasks)
        summaries_implausible(m, &b);
    print_quoted(&b);
    buf_release(&b);
}

static void print_examples(const struct summary *m)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    summaries_examples(m, &b);
    print_quoted(&b);
    buf_release(&b);
}

static void print_examples_json(const struct summary *m)
{
    for (int64_t i = 0; i < m->entries; i++)
        jsn_line(summary_entry_json(&m->entry[i]));
}

static int print_workers(const struct run_view *view, bool json, struct err *e)
{
    json_t *all = run_view_workers(view, e), *w;
    struct buf b;
    size_t i;

    if (!all && e->kind != ERR_NONE)
        return -1;
    buf_init(&b, BUF_UNLIMITED);
    if (json)
        json_array_foreach(json_object_get(all, "workers"), i, w)
            jsn_line(json_incref(w));
    else
        summaries_workers(all, &b);
    print_quoted(&b);
    buf_release(&b);
    json_decref(all);
    return 0;
}

static int one(const struct status_values *v, const char *dir, struct err *e)
{
    struct run_view view;
    struct summary m;
    int rc;

    if (run_view_open(dir, &view, e) < 0)
        return -1;
    if (v->workers) {
        rc = print_workers(&view, v->json, e);
        run_view_close(&view);
        return rc;
    }
    if (summary_make(&view, &m, e) < 0) {
        run_view_close(&view);
        return -1;
    }
    if (v->json && v->examples)
        print_examples_json(&m);
    else if (v->json && v->tasks)
        summaries_tasks(&m);
    else if (v->json)
        jsn_line(summary_run_json(&m, dir));
    else if (v->examples)
        print_examples(&m);
    else
        print_text(&m, dir, v->tasks);
    summary_release(&m);
    run_view_close(&view);
    return 0;
}

static int run_status(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct status_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && call.r.rest_len == 0)
        rc = err_set(e, ERR_USAGE, "give the folder of a run");
    if (rc == 0 && v.tasks + v.examples + v.workers > 1)
        rc = err_set(e, ERR_USAGE,
                     "give one of --tasks, --examples and --workers");
    for (size_t i = 0; rc == 0 && i < call.r.rest_len; i++)
        rc = one(&v, call.r.rest[i], e);
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

extern const struct cmd cmd_status;
const struct cmd cmd_status = {
    "status",
    "DIR...",
    "show the state of runs",
    "Says whether a run is running (and in which process), finished, stopped,\n"
    "killed, out of budget, waiting for answers from others, stuck (tasks\n"
    "were set aside) or failed; then what it has solved, at what cost, and "
    "why\n"
    "the other tasks are unsolved: counts by verdict, and the most common\n"
    "errors. May be used while the run works.",
    status_table,
    run_status,
};
