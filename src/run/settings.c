/* settings.c: the options of a run, and reading them back from run.ini. */
#include "run/settings.h"

#include "base/conf.h"
#include "base/fs.h"
#include "search/search.h"
#include "source/task.h"

#include <stddef.h>
#include <stdlib.h>

#undef MODELING_AT
#define MODELING_AT offsetof(struct run_settings, model)

#define OPTION(name, type, value, help, field, lo, hi)                        \
    {                                                                         \
        name, 0, type, value, help, offsetof(struct run_settings, field), lo, \
            hi                                                                \
    }

const struct run_settings run_defaults = {
    .verify = VERIFYING_DEFAULTS,
    .model = MODELING_DEFAULTS,
    .method = "monkeys",
    .retrieval = "alternating",
    .order = "strict",
    .reviewer = "off",
    .threshold = "0.7",
    .embeddings = "hash",
    .attempts = 25,
    .examples = 3,
    .pack_seeds = 3,
    .batch = 20,
    .slots = 64,
    .islands = 1,
    .history = 3,
};

const struct opt run_table[] = {
    OPTION("tasks", OPT_LIST, "PATH",
           "what to port: a file, a folder, a glob pattern, or a collection "
           "that comes with the program (starter); may be repeated (required)",
           tasks, 0, 0),
    DEFINE_OPTION(struct run_settings, define),
    OPTION("strict", OPT_FLAG, NULL,
           "refuse files that are not tasks (default: skip them, and warn)",
           strict, 0, 0),
    OPTION("dsl", OPT_TEXT, "ID", "the pack (required)", dsl, 0, 0),
    OPTION("method", OPT_CHOICE, METHOD_CHOICES,
           "how to search (default: monkeys)", method, 0, 0),
    OPTION("out", OPT_TEXT, "DIR",
           "the folder of the run (default: run-DSL-METHOD)", out, 0, 0),
    OPTION("attempts", OPT_INT, "N", "attempts per task (default: 25)",
           attempts, 1, 100000),
    OPTION("no-stop", OPT_FLAG, NULL,
           "make all attempts even after a task is solved, for pass@k", no_stop,
           0, 0),
    OPTION("examples", OPT_INT, "N",
           "solved kernels shown in each prompt (default: 3)", examples, 0, 16),
    OPTION("pack-seeds", OPT_INT, "N",
           "start with the first N examples of the pack (default: 3)",
           pack_seeds, 0, 100),
    OPTION("archive", OPT_LIST, "DIR",
           "also start with the kernels of this archive; may be repeated. "
           "postgres://USER@HOST/DATABASE is an archive that runs share: "
           "they read it and add to it while they work (needs 'make PG=1'; "
           "at most one)",
           archive, 0, 0),
    OPTION("prompts", OPT_TEXT, "DIR",
           "prompt templates (default: the program's own)", prompts, 0, 0),
    OPTION("guide", OPT_TEXT, "FILE",
           "show this guide instead of the pack's, for example one that "
           "'monkeys guide build' wrote",
           guide, 0, 0),
    OPTION("batch", OPT_INT, "N", "monkeys: tasks per mini-batch (default: 20)",
           batch, 1, 100000),
    OPTION("slots", OPT_INT, "N",
           "other methods: tasks worked on at once (default: 64)", slots, 1,
           100000),
    OPTION("retrieval", OPT_CHOICE, "alternating|similar|random|coverage",
           "monkeys: how examples are chosen (default: alternating)", retrieval,
           0, 0),
    OPTION("order", OPT_CHOICE, "strict|eager",
           "monkeys: finish a mini-batch before the next (strict), or let each "
           "task continue with the archive as it is (eager) (default: strict)",
           order, 0, 0),
    OPTION("phases", OPT_TEXT, "A,B,C",
           "combined: attempts per task in each phase (default: 20%, 40% and "
           "40% of --attempts)",
           phases, 0, 0),
    OPTION("islands", OPT_INT, "N",
           "evolve, combined: islands of programs; the paper has 1, OpenEvolve "
           "5 (default: 1)",
           islands, 1, 64),
    OPTION("history", OPT_INT, "N",
           "evolve, combined: earlier attempts shown besides the parent "
           "(default: 3)",
           history, 0, 8),
    OPTION("diff", OPT_FLAG, NULL,
           "evolve, combined: ask for SEARCH/REPLACE blocks", diff, 0, 0),
    OPTION("curriculum", OPT_CHOICE, "coarse|medium|fine",
           "divide each task into pieces, which are solved first and shown as "
           "examples; needs --method monkeys or combined, or --piece-example",
           curriculum, 0, 0),
    OPTION("curriculum-from", OPT_LIST, "DIR",
           "the same with pieces that 'monkeys decompose -o DIR' has made; "
           "may be repeated, one folder per level",
           curriculum_from, 0, 0),
    OPTION("refine-after", OPT_INT, "N",
           "monkeys: begin with the coarsest pieces, and add those of a task's "
           "next level whenever it stays unsolved for N iterations (default: "
           "all pieces from the beginning)",
           refine_after, 1, 100000),
    OPTION("piece-example", OPT_FLAG, NULL,
           "with pieces: show a solved piece of the task as one of the "
           "examples",
           piece_example, 0, 0),
    OPTION("reviewer", OPT_CHOICE, "off|loop|end",
           "let a model read correct kernels for cheats: never (off), before "
           "each joins the archive (loop), or all at the end (end) (default: "
           "off)",
           reviewer, 0, 0),
    OPTION("reviewer-threshold", OPT_TEXT, "SCORE",
           "refuse kernels with a lower score, from 0 to 1 (default: 0.7)",
           threshold, 0, 0),
    OPTION("embeddings", OPT_TEXT, "hash|URL",
           "how similarity is measured: built in (hash), or by an endpoint "
           "with /embeddings below URL (default: hash)",
           embeddings, 0, 0),
    OPTION("embedding-model", OPT_TEXT, "NAME", "the model of that endpoint",
           embedding_model, 0, 0),
    OPTION("seed", OPT_INT, "N",
           "seed of every random choice except the test inputs: each run "
           "draws its own, unless --replay-strict repeats a recorded run "
           "(default: 0)",
           seed, 0, INT64_MAX),
    OPTION("no-card", OPT_FLAG, NULL,
           "show the guide of the pack without its card, as in the "
           "paper",
           no_card, 0, 0),
    OPTION("force", OPT_FLAG, NULL,
           "port all tasks, even those that 'tasks check' would refuse", force,
           0, 0),
    OPTION(
        "no-wait", OPT_FLAG, NULL,
        "do not wait for answers in the --spool folder: end when nothing else "
        "is left, and continue with 'monkeys resume'",
        no_wait, 0, 0),
    OPTION("dry-run", OPT_FLAG, NULL, "estimate the cost, and send nothing",
           dry_run, 0, 0),
    RUN_SERVE_OPTION,
    OPTION("set", OPT_LIST, "NAME=VALUE",
           "set any of these options, as a configuration file does; may be "
           "repeated",
           set, 0, 0),
    VERIFYING_OPTION("no-timing", OPT_FLAG, NULL, "do not time correct kernels",
                     no_timing, 0, 0),
    VERIFYING_OPTION("call-timeout", OPT_INT, "SECONDS",
                     "limit for one call of forward (default: the pack's)",
                     call_s, 1, 3600),
    MODELING_OPTIONS,
    VERIFYING_OPTIONS,
    {0},
};

int run_settings_read(const char *dir, struct run_settings *s, struct arena *a,
                      struct err *e)
{
    char *ini = fs_join(dir, "run.ini");
    int rc =
        fs_is_file(ini)
            ? conf_apply(ini, "run", run_table, s, a, e)
            : err_set(e, ERR_INPUT, "%s: not a run (run.ini is missing)", dir);

    free(ini);
    return rc;
}
