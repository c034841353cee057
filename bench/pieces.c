/* pieces.c: a curriculum on a made-up model: does it help to solve pieces
 * first, and how small should they be? The scheduler, the archive, the retrieval
 * and the prompts are the real ones; the model is a rule. It says how the search
 * behaves under that rule, and nothing about real models or kernels.
 *
 *   bench-pieces FOLDER [SEEDS]     FOLDER: an empty one, for the runs
 *
 * A task is a chain of 9 steps; it is divided into 2, 3 or 9 pieces of adjacent
 * steps. An attempt succeeds with the probability Q^N * 0.8^J: Q from 0.45 to
 * 0.67 says how hard a step of this task is, N is the number of its steps that
 * no kernel in the prompt shows, J the number of kernels that it has to join. So
 * small pieces are easily solved, but three examples show few of their steps.
 * "lazy" begins coarse and refines after 3 iterations. Every task and piece has
 * 10 attempts, so a curriculum spends more of them, which is printed. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "mock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS    12
#define STEPS    9
#define ATTEMPTS 10
#define MOST     (TASKS * (2 + 3 + 9))

static const struct {
    const char *name;
    size_t pieces;
} levels[] = {{"coarse", 2}, {"medium", 3}, {"fine", 9}};
#define LEVELS (sizeof(levels) / sizeof(levels[0]))

/* Steps [from, to) of a task. */
struct part {
    size_t task, from, to;
};

struct world {
    long seed;
    struct part part[TASKS + MOST]; /* by the number in a file's name */
    size_t parts;
    struct search_piece piece[MOST];
    size_t parent[MOST], need[MOST], pieces;
};

static const char *const ops[] = {
    "torch.relu",       "torch.softmax",    "torch.cumsum", "torch.matmul",
    "torch.layer_norm", "torch.max_pool2d", "torch.conv2d", "torch.gelu",
    "torch.logsumexp",  "torch.bmm",        "torch.norm",   "torch.prod",
    "torch.mean",       "torch.tanh",       "torch.argmax", "torch.huber_loss",
};

/* ---- the tasks ---- */

static int write_part(const char *dir, size_t number, const struct part *p,
                      struct err *e)
{
    char name[32], *path;
    struct buf b = BUF_INIT;
    int rc;

    buf_printf(&b,
               "import torch\nimport torch.nn as nn\n\n\n"
               "class Model(nn.Module):\n    # steps %zu %zu %zu\n"
               "    def forward(self, chain_%zu):\n",
               p->task, p->from, p->to, p->task);
    for (size_t i = p->from; i < p->to; i++)
        buf_printf(&b, "        chain_%zu = %s(chain_%zu * %zu)\n", p->task,
                   ops[(p->task * 5 + i * 3) % 16], p->task, i + 2);
    buf_printf(&b,
               "        return chain_%zu\n\n\n"
               "def get_inputs():\n    return [torch.rand(8, 16)]\n\n\n"
               "def get_init_inputs():\n    return []\n",
               p->task);
    snprintf(name, sizeof(name), "t%03zu.py", number);
    path = fs_join(dir, name);
    rc = fs_replace(path, buf_str(&b), b.len, e);
    free(path);
    buf_release(&b);
    return rc;
}

static void add_pieces(struct world *w, size_t level)
{
    size_t n = levels[level].pieces;

    for (size_t task = 0; task < TASKS; task++)
        for (size_t k = 0; k < n; k++) {
            size_t i = w->pieces++;

            w->parent[i] = task;
            w->need[i] = w->parts - 1;
            w->piece[i] = (struct search_piece){.kind = "partition",
                                                .level = levels[level].name,
                                                .title = "steps",
                                                .fineness = (int)level,
                                                .depth = k,
                                                .needs = &w->need[i],
                                                .need_count = k > 0,
                                                .parents = &w->parent[i],
                                                .parent_count = 1};
            w->part[w->parts++] =
                (struct part){task, STEPS * k / n, STEPS * (k + 1) / n};
        }
}

static int make_world(struct world *w, const char *dir, const char *level,
                      struct err *e)
{
    bool lazy = strcmp(level, "lazy") == 0;
    char *folder = fs_join(dir, "tasks");
    int rc = fs_mkdirs(folder, e);

    for (size_t i = 0; i < TASKS; i++)
        w->part[w->parts++] = (struct part){i, 0, STEPS};
    for (size_t i = 0; i < LEVELS; i++)
        if (lazy || strcmp(level, levels[i].name) == 0)
            add_pieces(w, i);
    for (size_t i = 0; rc == 0 && i < w->parts; i++)
        rc = write_part(folder, i, &w->part[i], e);
    free(folder);
    return rc;
}

/* ---- the model ---- */

/* Marks the steps of `me` that the examples show; returns how many examples
 * show some. A task's own text follows the examples. */
static size_t look(const struct llm_request *r, const struct part *me,
                   bool *shown)
{
    static const char mark[] = "# steps ";
    size_t kernels = 0;

    for (size_t i = 0; i < r->count; i++) {
        const char *at = r->message[i].text.p;
        const char *end = strstr(at, "<task_to_be_optimized>");

        while ((at = strstr(at, mark)) && (!end || at < end)) {
            struct part x;
            size_t before = 0, after = 0;

            at += strlen(mark);
            if (sscanf(at, "%zu %zu %zu", &x.task, &x.from, &x.to) != 3 ||
                x.task != me->task)
                continue;
            for (size_t k = me->from; k < me->to; k++) {
                before += shown[k];
                shown[k] |= k >= x.from && k < x.to;
                after += shown[k];
            }
            kernels += after > before;
        }
    }
    return kernels;
}

static double chance(const struct llm_request *r, const struct part *me)
{
    bool shown[STEPS] = {false};
    size_t kernels = look(r, me, shown), missing = 0;

    for (size_t k = me->from; k < me->to; k++)
        missing += !shown[k];
    return pow(0.45 + 0.02 * (double)me->task, (double)missing) *
           pow(0.8, (double)kernels);
}

static void reply(const struct llm_request *r, struct buf *out, void *arg)
{
    const struct world *w = arg;
    size_t number = (size_t)strtol(strstr(r->key.task, "/t") + 2, NULL, 10);
    struct rng rng;

    if (strcmp(r->key.stage, "plan") == 0) {
        buf_puts(out, "A plan.");
        return;
    }
    rng_init(&rng, "course/%ld/%zu/%d", w->seed, number, r->key.attempt);
    buf_printf(out,
               "```python\nclass ModelNew:\n    attempt = %d\n"
               "    right = %s\n```\n",
               r->key.attempt,
               rng_unit(&rng) < chance(r, &w->part[number]) ? "True" : "False");
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

/* ---- the runs ---- */

struct sum {
    size_t solved, pieces, pieces_solved, attempts;
};

static int run_one(const char *dir, const char *level, bool place, long seed,
                   struct sum *sum, struct err *e)
{
    struct search_opts o = mock_opts;
    struct world *w = xcalloc(1, sizeof(*w));
    struct mock m = {.rule = {.reply = reply, .judge = judge, .arg = w}};
    enum search_end end;
    int rc;

    w->seed = seed;
    o.seed = seed;
    o.attempts = ATTEMPTS;
    o.batch = 8;
    o.piece_example = place;
    o.refine_after = strcmp(level, "lazy") == 0 ? 3 : 0;
    rc = make_world(w, dir, level, e);
    m.piece = w->piece;
    m.pieces = w->pieces;
    if (rc == 0)
        rc = mock_open(&m, dir, &o, 16, e);
    if (rc == 0)
        rc = mock_run(&m, &end, e);
    if (rc == 0) {
        struct search_counts c = search_count(m.search);

        sum->solved += c.solved;
        sum->pieces += c.pieces;
        sum->pieces_solved += c.pieces_solved;
        sum->attempts += c.attempts;
        rc = mock_close(&m, e);
    }
    free(w);
    return rc;
}

static int run_all(const char *folder, const char *level, bool place,
                   long seeds, struct err *e)
{
    struct sum s = {0};
    struct stats_interval share;
    double n = (double)seeds;

    for (long seed = 1; seed <= seeds; seed++) {
        char *name = xasprintf("%s/%s-%d-%ld", folder, level, place, seed);
        int rc = run_one(name, level, place, seed, &s, e);

        free(name);
        if (rc < 0)
            return -1;
    }
    share = stats_wilson((int64_t)s.solved, TASKS * seeds);
    printf("%-8s %-9s %6.1f %8.1f   %5.2f  %5.2f to %5.2f %9.0f\n", level,
           place ? "reserved" : "-", (double)s.pieces / n,
           (double)s.pieces_solved / n, (double)s.solved / n, TASKS * share.lo,
           TASKS * share.hi, (double)s.attempts / n);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"none", "coarse", "medium", "fine",
                                        "lazy"};
    long seeds = argc > 2 ? strtol(argv[2], NULL, 10) : 20;
    struct err e = ERR_INIT;

    if (argc < 2 || seeds < 1) {
        fprintf(stderr, "usage: bench-pieces FOLDER [SEEDS]\n");
        return 2;
    }
    log_set_level(LOG_QUIET);
    printf("bench/pieces: a SIMULATION, %d tasks of %d steps, %d attempts for "
           "each task and piece, %ld seeds; means, and Wilson's 95 %% interval "
           "of the share of tasks, times %d\n",
           TASKS, STEPS, ATTEMPTS, seeds, TASKS);
    printf("%-8s %-9s %6s %8s   %5s  %14s %9s\n", "level", "place", "pieces",
           "solved", "tasks", "95 %", "attempts");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (int place = 0; place < (i ? 2 : 1); place++)
            if (run_all(argv[1], names[i], place, seeds, &e) < 0) {
                fprintf(stderr, "%s\n", e.text);
                return 1;
            }
    return 0;
}
