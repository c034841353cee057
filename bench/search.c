/* search.c: what the search itself costs: a model that answers at once, verdicts
 * at once; store, prompts, retrieval and scheduling are the real ones. Prints a
 * JSON object.
 *
 *   bench-search FOLDER TASKS ATTEMPTS */
#include "base/json.h"
#include "base/tick.h"
#include "mock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* What a model takes to write is not the search's: the body is made once. */
struct model {
    int late; /* no verdict before this attempt is good */
    struct buf body;
};

static void write_body(struct buf *out)
{
    buf_init(out, BUF_UNLIMITED);
    for (int i = 0; i < 60; i++)
        buf_printf(out,
                   "    def step_%d(self, x, y):\n"
                   "        return x * %d + y  # a line of some length\n",
                   i, i);
    buf_puts(out, "```\n");
}

/* Nothing is ever solved but a tenth, late: every task makes nearly all its
 * attempts, and the archive grows. */
static const char *judge(const struct task *t, struct str code, int attempt,
                         void *arg)
{
    (void)code;
    return mock_solves(t->id, 1000 + attempt) &&
                   attempt >= ((const struct model *)arg)->late
               ? "correct"
               : "wrong_values";
}

/* Programs of the length that kernels have. */
static void reply(const struct llm_request *r, struct buf *out, void *arg)
{
    const struct model *m = arg;

    if (strcmp(r->key.stage, "plan") == 0) {
        for (int i = 0; i < 20; i++)
            buf_printf(out,
                       "Step %d of the plan for %s: load a tile, reduce "
                       "it, keep the maximum, store the result. ",
                       i, r->key.task);
        return;
    }
    buf_printf(out, "```python\nclass ModelNew:\n    attempt = %d\n",
               r->key.attempt);
    buf_put(out, m->body.data, m->body.len);
}

static double cpu_s(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    struct search_opts o = mock_opts;
    struct model model = {0};
    struct mock m = {.rule = {.reply = reply, .judge = judge, .arg = &model}};
    struct search_counts c;
    struct rusage before, after;
    enum search_end end;
    struct err e = ERR_INIT;
    int64_t began;

    if (argc != 4) {
        fprintf(stderr, "usage: bench-search FOLDER TASKS ATTEMPTS\n");
        return 2;
    }
    o.attempts = strtol(argv[3], NULL, 10);
    o.batch = 20;
    model.late = (int)o.attempts - 2;
    write_body(&model.body);
    if (mock_tasks(argv[1], (size_t)strtol(argv[2], NULL, 10), &e) < 0 ||
        mock_open(&m, argv[1], &o, 64, &e) < 0)
        goto fail;
    getrusage(RUSAGE_SELF, &before);
    began = tick_now_ns();
    if (mock_run(&m, &end, &e) < 0)
        goto fail;
    began = tick_now_ns() - began;
    getrusage(RUSAGE_SELF, &after);
    c = search_count(m.search);
    jsn_line(json_pack(
        "{s:I, s:I, s:I, s:f, s:f, s:f}", "tasks", (json_int_t)c.tasks,
        "attempts", (json_int_t)c.attempts, "solved", (json_int_t)c.solved,
        "cpu_s", cpu_s(&after) - cpu_s(&before), "wall_s", (double)began / 1e9,
        "peak_mb", (double)after.ru_maxrss / 1024));
    buf_release(&model.body);
    return mock_close(&m, &e) < 0;
fail:
    fprintf(stderr, "%s\n", e.text);
    return 1;
}
