/* verifying.h: the options that all commands with a verifier share, and how
 * they choose device, precision, sandbox and back end. */
#ifndef VERIFY_VERIFYING_H
#define VERIFY_VERIFYING_H

#include "base/home.h"
#include "base/opt.h"
#include "llm/ask_all.h"
#include "pack/pack.h"
#include "source/task.h"
#include "verify/verifier.h"

/* Embed it as the first member of a command's values. */
struct verifying_values {
    const char *verifier, *device, *precision, *protocol, *box;
    const char *launcher, *slurm_args;
    bool no_timing, unsafe, json;
    int64_t children, memory, call_s, workers, heartbeat;
    struct opt_list packs;
};

#define VERIFYING_DEFAULTS                                         \
    {                                                              \
        .verifier = "local", .device = "auto", .box = "auto",      \
        .protocol = "hardened", .launcher = "local", .workers = 1, \
        .heartbeat = 20                                            \
    }

#define VERIFYING_OPTION(name, type, value, help, field, lo, hi)              \
    {                                                                         \
        name, 0, type, value, help, offsetof(struct verifying_values, field), \
            lo, hi                                                            \
    }
#define VERIFYING_PRECISION_HELP                                               \
    "the type of inputs and weights; tf32 is fp32 with TF32 products allowed " \
    "(default: the pack's own; fp32 on the CPU)"
#define VERIFYING_OPTIONS                                        \
    VERIFYING_OPTION("precision", OPT_CHOICE, PRECISION_CHOICES, \
                     VERIFYING_PRECISION_HELP, precision, 0, 0), \
        VERIFYING_PLACE_OPTIONS
/* Workers that connect to this program (docs/SCALE.md). */
#define VERIFYING_WORKER_OPTIONS                                            \
    VERIFYING_OPTION("launcher", OPT_CHOICE, "local|slurm|none",            \
                     "who starts the workers: this program, a Slurm "       \
                     "cluster, or you (default: local); the others imply "  \
                     "--verifier tcp=127.0.0.1:0",                          \
                     launcher, 0, 0),                                       \
        VERIFYING_OPTION("workers", OPT_INT, "N",                           \
                         "how many workers to start; on this host each "    \
                         "gets its own GPU, from --device on (default: 1)", \
                         workers, 1, 100000),                               \
        VERIFYING_OPTION("slurm-args", OPT_TEXT, "TEXT",                    \
                         "more arguments for sbatch, such as "              \
                         "'--gres=gpu:1 --partition=h200'",                 \
                         slurm_args, 0, 0),                                 \
        VERIFYING_OPTION("heartbeat", OPT_INT, "S",                         \
                         "disconnect a worker that has been silent for S "  \
                         "seconds (default: 20)",                           \
                         heartbeat, 3, 3600)
/* Those that say where and how, for a command with its own --precision. */
#define VERIFYING_PLACE_OPTIONS                                                \
    VERIFYING_OPTION(                                                          \
        "device", OPT_TEXT, "cpu|cuda:N|auto",                                 \
        "where candidates run (default: auto, a GPU if there is one)", device, \
        0, 0),                                                                 \
        VERIFYING_OPTION(                                                      \
            "verifier", OPT_TEXT, "local|tcp=HOST:PORT|jobs=DIR",              \
            "verify here, by workers that connect to HOST:PORT, or write "     \
            "jobs to DIR for a worker on another host and read its answers "   \
            "from there (default: local)",                                     \
            verifier, 0, 0),                                                   \
        VERIFYING_WORKER_OPTIONS,                                              \
        VERIFYING_OPTION("children", OPT_INT, "N",                             \
                         "candidates to run at once (default: 0, which "       \
                         "chooses for this machine)",                          \
                         children, 0, 256),                                    \
        VERIFYING_OPTION(                                                      \
            "box", OPT_CHOICE, "auto|full|thin|none",                          \
            "which sandbox to use (default: auto, the strongest available)",   \
            box, 0, 0),                                                        \
        VERIFYING_OPTION("unsafe", OPT_FLAG, NULL,                             \
                         "run candidates even if no sandbox is available",     \
                         unsafe, 0, 0),                                        \
        VERIFYING_OPTION("packs", OPT_LIST, "DIR", PACKS_HELP, packs, 0, 0),   \
        VERIFYING_OPTION("json", OPT_FLAG, NULL,                               \
                         "print a JSON object for each item", json, 0, 0)

/* Replaces "auto" by a GPU if there is one, else by the CPU. ERR_USAGE when
 * the name is not that of a device. */
int verifying_choose_device(struct verifying_values *v, struct err *e);
/* The same for one pack: a GPU only if the pack runs on one. */
int verifying_choose_for(struct verifying_values *v, const struct pack *p,
                         struct err *e);
int verifying_check_device(const char *device, struct err *e);
/* What the options ask for; `v` and `home` are borrowed. */
struct verifier_opts verifying_opts(const struct verifying_values *v,
                                    const struct home *home);
struct job_opts verifying_job(const struct verifying_values *v,
                              const char *precision);

/* A verifier and a loop for it, for a command that asks and waits. */
struct verifying {
    struct loop *loop;
    struct verifier *verifier;
    struct verifier_opts opts;
};
int verifying_open(struct verifying *g, const struct verifying_values *v,
                   const struct home *home, struct err *e);
/* Says on stderr how to get the answers that are missing. */
void verifying_hint(const struct verifying *g);
/* Also after a failed open. */
void verifying_close(struct verifying *g);

/* One of many questions to a verifier, on a coroutine; as an ask_fn. */
typedef int verifying_fn(struct verifier *d, size_t item, void *arg,
                         struct err *e);
/* Opens a verifier, does the items 0 to count-1, many at a time, and says how to get the
 * answers of another host. A signal that stops it ends the program, when the verifier
 * is closed. */
int verifying_all(const struct verifying_values *v, const struct home *home,
                  size_t count, verifying_fn *fn, void *arg, struct err *e);
/* The precision to use with a pack; NULL and an error if it is not possible. */
const char *verifying_precision(const struct verifying_values *v,
                                const struct pack *p, struct err *e);

/* ---- which tasks of a collection can be judged, before a run spends a token on
 * them ---- */

/* How to check them, and what to call after each task. ask_all_stop(&ask) stops
 * it. */
struct gate_opts {
    const struct job_opts *job;
    void (*step)(void *arg);
    void *arg;
    struct ask_all ask; /* all zero at first */
};

/* Sets why[i] to the reason that task i cannot be judged, or could not be
 * checked; the caller frees it. It stays NULL for a task that can be judged.
 * Returns 0 when all are answered, 1 when answers are missing, -1 when none
 * could be checked or the worker is dead. */
int gate_tasks(struct verifier *d, const struct collection *tasks,
               struct gate_opts *o, char **why, struct err *e);

#endif
