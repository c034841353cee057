/* cmd_status.c: monkeys status: where a run stands. */
#include "base/fs.h"
#include "cmd/cmd.h"
#include "cmd/summaries.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct status_values {
    bool tasks, examples, json;
};

static const struct opt status_table[] = {
    {"tasks", 0, OPT_FLAG, NULL, "a line for each task",
     offsetof(struct status_values, tasks), 0, 0},
    {"examples", 0, OPT_FLAG, NULL,
     "a line for each member of the archive: how often it was shown, and how "
     "often the attempt then succeeded",
     offsetof(struct status_values, examples), 0, 0},
    {"json", 0, OPT_FLAG, NULL,
     "JSON Lines: a line for the run, or each task, or each example",
     offsetof(struct status_values, json), 0, 0},
    {0},
};

static void print_text(const struct summary *m, const char *dir, bool tasks)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    if (tasks) {
        summary_table(m, &b);
        buf_putc(&b, '\n');
    } else {
        buf_printf(&b, "%s: ", dir);
    }
    summary_line(m, &b);
    printf("%s\n", buf_str(&b));
    buf_release(&b);
}

static void print_examples(const struct summary *m)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    summary_examples(m, &b);
    printf("%s", buf_str(&b));
    buf_release(&b);
}

static int one(const struct status_values *v, const char *dir, struct err *e)
{
    char *file = fs_join(dir, "run.db");
    struct store *s = store_open(file, STORE_READ, NULL, e);
    struct summary m;
    int rc = s ? summary_read(s, &m, e) : -1;

    free(file);
    if (rc == 0) {
        if (v->json && v->examples)
            summaries_examples(&m);
        else if (v->json && v->tasks)
            summaries_tasks(&m);
        else if (v->json)
            summaries_run(&m, dir);
        else if (v->examples)
            print_examples(&m);
        else
            print_text(&m, dir, v->tasks);
        summary_release(&m);
    }
    if (s && store_close(s, e) < 0)
        rc = -1;
    return rc;
}

static int run_status(const struct cmd *c, int argc, char **argv, struct err *e)
{
    struct status_values v = {0};
    struct cmd_call call = {.cmd = c, .values = &v};
    int rc = cmd_begin(&call, argc, argv, sizeof(v), e);

    if (rc == 0 && call.r.rest_len == 0)
        rc = err_set(e, ERR_USAGE, "the folder of a run is needed");
    if (rc == 0 && v.tasks && v.examples)
        rc = err_set(e, ERR_USAGE, "--tasks or --examples, not both");
    for (size_t i = 0; rc == 0 && i < call.r.rest_len; i++)
        rc = one(&v, call.r.rest[i], e);
    cmd_end(&call);
    return rc > 0 ? 0 : rc;
}

extern const struct cmd cmd_status;
const struct cmd cmd_status = {
    "status",
    "DIR...",
    "say where a run stands",
    "Reads the run's database, also while it runs.",
    status_table,
    run_status,
};
