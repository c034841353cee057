/* cmd_status.c: monkeys status: where a run stands. */
#include "base/fs.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "search/search.h"
#include "search/summary.h"

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

static void print_examples_json(const struct summary *m)
{
    for (int64_t i = 0; i < m->entries; i++) {
        const struct summary_entry *x = &m->entry[i];
        json_t *stages = json_object();

        for (int k = 0; k < 3; k++)
            json_object_set_new(
                stages, prompt_stages[k],
                json_pack("{s:I, s:I}", "shown", (json_int_t)x->count[k].shown,
                          "solved", (json_int_t)x->count[k].solved));
        jsn_line(json_pack("{s:I, s:s, s:s, s:I, s:I, s:o}", "entry",
                           (json_int_t)i + 1, "name", x->name, "origin",
                           x->origin, "version", (json_int_t)x->version, "left",
                           (json_int_t)x->left, "stages", stages));
    }
}

static void print_json(const struct summary *m, const char *dir, bool tasks)
{
    json_t *verdicts;

    for (size_t i = 0; tasks && i < m->tasks; i++) {
        const struct summary_task *t = &m->task[i];

        jsn_line(json_pack("{s:s, s:s?, s:s?, s:s?, s:I, s:I, s:b, s:s, s:s?}",
                           "task", t->id, "verdict", t->verdict, "rule",
                           t->rule, "evidence", t->evidence, "attempts",
                           (json_int_t)t->attempts, "solved_at",
                           (json_int_t)t->solved_at, "doubted", t->doubted,
                           "shown", t->shown, "skipped", t->skipped));
    }
    if (tasks)
        return;
    verdicts = json_object();
    for (size_t i = 0; verdict_names[i]; i++)
        json_object_set_new(verdicts, verdict_names[i],
                            json_integer(m->verdict[i]));
    jsn_line(json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:b, s:I, s:o}",
        "run", dir, "tasks", (json_int_t)m->tasks, "skipped",
        (json_int_t)m->skipped, "solved", (json_int_t)m->solved, "doubted",
        (json_int_t)m->doubted, "attempts", (json_int_t)m->attempts,
        "duplicates", (json_int_t)m->duplicates, "infra", (json_int_t)m->infra,
        "calls", (json_int_t)m->calls, "answered", (json_int_t)m->answered,
        "failed", (json_int_t)m->failed, "lost", (json_int_t)m->lost,
        "tokens_in", (json_int_t)m->tokens_in, "tokens_out",
        (json_int_t)m->tokens_out, "usd_micro", (json_int_t)m->usd_micro,
        "estimated", m->estimated, "entries", (json_int_t)m->entries,
        "verdicts", verdicts));
}

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
            print_examples_json(&m);
        else if (v->json)
            print_json(&m, dir, v->tasks);
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
