/* sim.c: the methods against each other on a made-up model. The scheduler, the
 * archive, the retrieval and the prompts are the real ones; the model is a rule
 * that draws whether an attempt succeeds, from what its prompt shows. It says
 * how the methods behave under that rule, and nothing about real models or
 * kernels.
 *
 *   bench-sim FOLDER WORLD METHOD RETRIEVAL SEED
 *   bench-sim --workers N …                        (bench/sim/fleet.c)
 *
 * WORLD `deaf`: each task has a probability of its own; examples do nothing.
 * WORLD `learns`: a third of the tasks are easy (one attempt in two); for the
 * others the probability grows with the number of shown examples that solve a
 * task of the same family and were not shown in the attempt before: 2.0, 3.4,
 * 5.3 and 20.8 % for 0, 1, 2 and 3 of them, the rates of the paper's Table 10
 * by examples changed since the attempt before. In both, feedback on the attempt before makes success 1.3 times as likely. */
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "mock.h"
#include "sim/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS    48
#define FAMILIES 6
#define ATTEMPTS 15

struct world {
    bool learns;
    long seed;
    bool last[TASKS][TASKS]; /* example b was shown to task a last time */
};

static const char *const ops[] = {
    "torch.relu",       "torch.softmax",    "torch.cumsum", "torch.matmul",
    "torch.layer_norm", "torch.max_pool2d", "torch.conv2d", "torch.gelu",
    "torch.logsumexp",  "torch.bmm",        "torch.norm",   "torch.prod",
    "torch.mean",       "torch.tanh",       "torch.argmax", "torch.huber_loss",
};

static int write_tasks(const char *dir, struct err *e)
{
    char *folder = fs_join(dir, "tasks"), name[32], *path;
    struct buf b = BUF_INIT;
    int rc = fs_mkdirs(folder, e);

    for (int t = 0; rc == 0 && t < TASKS; t++) {
        int f = t % FAMILIES;

        buf_reset(&b);
        buf_printf(&b,
                   "import torch\nimport torch.nn as nn\n\n\n"
                   "class Model(nn.Module):\n    # member %d of %d\n"
                   "    def forward(self, x):\n"
                   "        return %s(%s(%s(x * %d)))\n\n\n"
                   "def get_inputs():\n    return [torch.rand(8, 16)]\n\n\n"
                   "def get_init_inputs():\n    return []\n",
                   t, f, ops[f], ops[(f + 3) % 16], ops[(f * 5 + 1) % 16], t);
        snprintf(name, sizeof(name), "t%02d.py", t);
        path = fs_join(folder, name);
        rc = fs_replace(path, buf_str(&b), b.len, e);
        free(path);
    }
    buf_release(&b);
    free(folder);
    return rc;
}

static int task_of(const char *id)
{
    return (int)strtol(strstr(id, "/t") + 2, NULL, 10);
}

/* Examples of the task's own family that its last attempt did not have. */
static int new_neighbours(struct world *w, const struct llm_request *r, int me)
{
    static const char mark[] = "# member ";
    bool now[TASKS] = {false};
    int count = 0;

    for (size_t i = 0; i < r->count; i++) {
        const char *at = r->message[i].text.p;
        const char *end = strstr(at, "<task_to_be_optimized>");

        while ((at = strstr(at, mark)) && (!end || at < end)) {
            int other = (int)strtol(at + strlen(mark), NULL, 10);

            at += strlen(mark);
            now[other] = other != me && other % FAMILIES == me % FAMILIES;
        }
    }
    for (int i = 0; i < TASKS; i++)
        count += now[i] && !w->last[me][i];
    memcpy(w->last[me], now, sizeof(now));
    return count;
}

static bool has_feedback(const struct llm_request *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (strstr(r->message[i].text.p, "the values are wrong"))
            return true;
    return false;
}

static double chance(struct world *w, const struct llm_request *r, int me)
{
    static const double rate[] = {0.020, 0.034, 0.053, 0.208};
    int found = new_neighbours(w, r, me);
    double p;

    if (!w->learns)
        p = 0.01 + 0.01 * (me % 7);
    else
        p = me < TASKS / 3 ? 0.5 : rate[found > 3 ? 3 : found];
    return has_feedback(r) ? p * 1.3 : p;
}

static void reply(const struct llm_request *r, struct buf *out, void *arg)
{
    struct world *w = arg;
    int me = task_of(r->key.task);
    struct rng rng;

    if (strcmp(r->key.stage, "plan") == 0) {
        buf_puts(out, "A plan.");
        return;
    }
    rng_init(&rng, "sim/%ld/%d/%d", w->seed, me, r->key.attempt);
    buf_printf(out,
               "```python\nclass ModelNew:\n    attempt = %d\n"
               "    right = %s\n```\n",
               r->key.attempt,
               rng_unit(&rng) < chance(w, r, me) ? "True" : "False");
}

static const char *judge(const struct task *t, struct str code, int attempt,
                         void *arg)
{
    char *text = xstrndup(code.p, code.n);
    bool right = strstr(text, "right = True") != NULL;

    (void)t, (void)attempt, (void)arg;
    free(text);
    return right ? "correct" : "wrong_values";
}

int main(int argc, char **argv)
{
    struct search_opts o = mock_opts;
    struct world w = {0};
    struct mock m = {.rule = {.reply = reply, .judge = judge, .arg = &w}};
    enum search_end end;
    struct err e = ERR_INIT;

    if (argc > 1 && strncmp(argv[1], "--", 2) == 0)
        return sim_fleet(argc, argv);
    if (argc != 6) {
        fprintf(stderr, "usage: bench-sim FOLDER deaf|learns METHOD RETRIEVAL "
                        "SEED\n       bench-sim --workers N\n");
        return 2;
    }
    w.learns = strcmp(argv[2], "learns") == 0;
    w.seed = strtol(argv[5], NULL, 10);
    o.method = argv[3];
    o.retrieval = argv[4];
    o.seed = w.seed;
    o.attempts = ATTEMPTS;
    o.phase[0] = 3;
    o.phase[1] = o.phase[2] = 6;
    o.batch = 8;
    if (write_tasks(argv[1], &e) < 0 ||
        mock_open(&m, argv[1], &o, 16, &e) < 0 || mock_run(&m, &end, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    jsn_line(json_pack("{s:I, s:I}", "solved",
                       (json_int_t)search_count(m.search).solved, "attempts",
                       (json_int_t)search_count(m.search).attempts));
    return mock_close(&m, &e) < 0;
}
