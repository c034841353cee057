/* run_options.c: the options of a run. */
#include "cmd/running.h"
#include "search/options.h"

#include <stddef.h>

#undef MODELING_AT
#define MODELING_AT offsetof(struct run_values, m)

#define OPTION(name, type, value, help, field, lo, hi)                         \
    {                                                                          \
        name, 0, type, value, help, offsetof(struct run_values, field), lo, hi \
    }

const struct run_values run_defaults = {
    .v = VERIFYING_DEFAULTS,
    .m = MODELING_DEFAULTS,
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
           "that comes with the program (starter); may be given several times "
           "(required)",
           tasks, 0, 0),
    OPTION("dsl", OPT_TEXT, "ID", "the pack (required)", dsl, 0, 0),
    OPTION("method", OPT_CHOICE, METHOD_CHOICES, "how to search (monkeys)",
           method, 0, 0),
    OPTION("out", OPT_TEXT, "DIR", "the run's folder (run-DSL-METHOD)", out, 0,
           0),
    OPTION("attempts", OPT_INT, "N",
           "answers taken to the verifier, a task (25)", attempts, 1, 100000),
    OPTION("no-stop", OPT_FLAG, NULL,
           "make all attempts, also after a success: pass@k", no_stop, 0, 0),
    OPTION("examples", OPT_INT, "N", "solved kernels in a prompt (3)", examples,
           0, 16),
    OPTION("pack-seeds", OPT_INT, "N",
           "begin with the pack's first N seeds (3)", pack_seeds, 0, 100),
    OPTION("archive", OPT_LIST, "DIR",
           "also begin with these solved kernels: an exported archive", archive,
           0, 0),
    OPTION("batch", OPT_INT, "N", "monkeys: tasks of a mini-batch (20)", batch,
           1, 100000),
    OPTION("slots", OPT_INT, "N", "the other methods: tasks at once (64)",
           slots, 1, 100000),
    OPTION("retrieval", OPT_CHOICE, "alternating|similar|random|coverage",
           "monkeys: which examples (alternating)", retrieval, 0, 0),
    OPTION("order", OPT_CHOICE, "strict|eager",
           "monkeys: wait for a mini-batch, or let each task go on with the "
           "archive as it is (strict)",
           order, 0, 0),
    OPTION("phases", OPT_TEXT, "A,B,C",
           "combined: attempts before each barrier (a fifth, two fifths, two "
           "fifths of all)",
           phases, 0, 0),
    OPTION("islands", OPT_INT, "N",
           "evolve, combined: 1 as in the paper, 5 as in OpenEvolve (1)",
           islands, 1, 64),
    OPTION("history", OPT_INT, "N",
           "evolve, combined: other attempts shown besides the parent (3)",
           history, 0, 8),
    OPTION("diff", OPT_FLAG, NULL,
           "evolve, combined: ask for SEARCH/REPLACE blocks", diff, 0, 0),
    OPTION("reviewer", OPT_CHOICE, "off|loop|end",
           "let a model read correct kernels for cheats: never, before each "
           "joins the archive, or all at the end (off)",
           reviewer, 0, 0),
    OPTION("reviewer-threshold", OPT_TEXT, "SCORE",
           "a score below it is a rejection (0.7)", threshold, 0, 0),
    OPTION("embeddings", OPT_TEXT, "hash|URL",
           "what nearness is measured by: built in, or an endpoint with "
           "/embeddings below the URL (hash)",
           embeddings, 0, 0),
    OPTION("embedding-model", OPT_TEXT, "NAME", "of that endpoint",
           embedding_model, 0, 0),
    OPTION("seed", OPT_INT, "N", "of every random choice (0)", seed, 0,
           INT64_MAX),
    OPTION("no-card", OPT_FLAG, NULL,
           "show the pack's guide without its card, as in the paper", no_card,
           0, 0),
    OPTION("force", OPT_FLAG, NULL,
           "do not ask the gate; port also tasks it would refuse", force, 0, 0),
    OPTION("no-wait", OPT_FLAG, NULL,
           "end when all that is left waits for answers from elsewhere",
           no_wait, 0, 0),
    OPTION("dry-run", OPT_FLAG, NULL,
           "estimate what it would cost, and send nothing", dry_run, 0, 0),
    OPTION("set", OPT_LIST, "NAME=VALUE",
           "any of these options, as in a file; may be given several times",
           set, 0, 0),
    VERIFYING_OPTION("no-timing", OPT_FLAG, NULL,
                     "do not measure correct kernels", no_timing, 0, 0),
    VERIFYING_OPTION("call-timeout", OPT_INT, "SECONDS",
                     "for one call of forward (the pack's own)", call_s, 1,
                     3600),
    MODELING_OPTIONS,
    VERIFYING_OPTIONS,
    {0},
};
