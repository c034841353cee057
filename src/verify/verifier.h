/* verifier.h: the verifier. Every candidate that is judged comes through here: first
 * the static rules, then a job for a worker, then the pack's hint is added to the
 * feedback. The worker runs here, connects to us, or reads a folder.
 * Within the worker, the judge decides on the verdict. The search gives some verdicts
 * without the verifier: no_code and truncated, the verdict of an earlier attempt with
 * the same code, and hack when the reviewer refuses a kernel.
 *
 * A record is what `verify --json` prints. No record means that the verifier
 * itself failed, which says nothing about the candidate. A record with the
 * verdict "infra" means the same; if it also has `"unusable": true`, the task
 * cannot be judged and trying again does not help. */
#ifndef VERIFY_VERIFIER_H
#define VERIFY_VERIFIER_H

#include "base/err.h"
#include "base/home.h"
#include "base/json.h"
#include "base/opt.h"
#include "io/co.h"
#include "io/loop.h"
#include "pack/pack.h"
#include "source/task.h"
#include "verify/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verifier;

/* All borrowed until verifier_close(). */
struct verifier_opts {
    const struct home *home;
    const char *verifier; /* "local", "tcp=HOST:PORT" or "jobs=DIR" */
    const char *device;   /* "cpu", "cuda:N" */
    const char *box;
    int64_t children;
    bool unsafe;
    bool at_once; /* a worker here starts now, not with the first job */
    const struct opt_list *packs;
    /* For tcp: who starts how many workers ("local", "slurm", "none"), words
     * for sbatch (NULL: none), the file of the secret (NULL: one for this
     * command), and the silence after which a worker is given up. */
    const char *launcher, *slurm_args, *key;
    int64_t workers, heartbeat_s;
    const char *roster; /* the file that shows the workers; NULL: none */
    /* The seeds of all inputs come from it, so the same secret gives the same
     * jobs. NULL: a new one, or the one in the folder of jobs. */
    const char *secret;
};

/* Answers come from `l`, which the caller runs. */
struct verifier *verifier_open(struct loop *l, const struct verifier_opts *o,
                               struct err *e);
/* `v` may be NULL. Questions without an answer are dropped. */
void verifier_close(struct verifier *v);

struct loop *verifier_loop(const struct verifier *v);

/* ---- what it asks a worker (docs/PROTOCOL.md, Jobs), and how an answer becomes the
 * record that users see (docs/VERIFIER.md) ---- */

/* How a candidate or a task is judged. */
struct job_opts {
    const char *device, *precision, *protocol;
    bool timing;
    bool gate;            /* also check the task */
    bool self_test;       /* of a task: also try answers with known verdicts */
    bool foreign;         /* of a task: run it in boxes, not in the judge */
    int64_t memory_bytes; /* 0: the worker's own */
    int64_t call_ms;      /* 0: the pack's */
    int64_t whole_ms;     /* for the job; 0: the sum over its parts */
};

/* The seeds of an attempt: its own, and one that 16 attempts in a row share,
 * so that the inputs and outputs that come from it are computed once. They cannot be
 * known without the secret, and the same secret gives the same seeds. */
struct job_seeds {
    char own[HASH_HEX], pool[HASH_HEX];
};

void job_seeds(const char *secret, const char *task, size_t attempt,
               struct job_seeds *out);

/* A new reference. */
json_t *job_verify(const struct pack *p, const struct task *t,
                   struct str candidate, const struct job_opts *o,
                   const struct job_seeds *seeds);
/* The text that is sent; `id` is its hash (NULL: not needed). The caller frees
 * the text. */
char *job_text(const json_t *job, char *id);
/* Appends the pack's hint to the feedback of a failed record. The hint is
 * looked up by the error's own text (`message`), since feedback also quotes
 * lines of the candidate, which may say anything. */
void job_add_hint(json_t *record, const struct pack *p);

/* ---- questions, asked from a coroutine ---- */

/* How many candidates or tasks a command has under way, so that the largest fleet
 * is busy: what waits for a worker waits here, with little more than a stack. */
#define VERIFIER_MOST 4096

/* All zero at first; verifier_answer_release() also after a failure. */
struct verifier_answer {
    struct co_event over;
    struct asked *asked; /* while it is waited for */
    json_t *record;      /* a copy, but not of what is in it; NULL: */
    char *why;           /* "" where there is no reason */
};
void verifier_answer_release(struct verifier_answer *a);
/* The record, or one that says "infra" and why; a new reference. */
json_t *verifier_answer_record(const struct verifier_answer *a);

struct candidate {
    const struct pack *pack; /* must outlive the verifier */
    const struct task *task;
    struct str code;
    size_t attempt; /* chooses the inputs: see job_seeds() */
    const struct job_opts *job;
    bool unchecked; /* the static rules are left out */
    bool patient;   /* also waits for what only another host can answer, after
                       this program has ended: until it is cancelled */
};
/* Judges a candidate, and waits. -1 without an error in `e`: there is no answer now,
 * because the coroutine was cancelled, or because only another host can give it. */
int verifier_ask(struct verifier *v, const struct candidate *c,
                 struct verifier_answer *out, struct err *e);
/* The same for whether a task can be judged: its record has `usable` and
 * `reasons`. */
int verifier_check_task(struct verifier *v, const struct task *t,
                        const struct job_opts *o, struct verifier_answer *out,
                        struct err *e);

/* Asks for the pieces of a task, or whether proposed ones hold: the record has
 * the form CONTRACT_ANSWER (curriculum/contract.h). */
struct verifier_division {
    const struct task *task;
    const char *level;
    const json_t *proposal; /* NULL: divide the task at `level` */
    const struct job_opts *job;
};
int verifier_divide(struct verifier *v, const struct verifier_division *x,
                    struct verifier_answer *out, struct err *e);
/* What the others come down to: any job, which it takes over. */
int verifier_ask_job(struct verifier *v, json_t *what, int64_t deadline_ms,
                     struct verifier_answer *out, struct err *e);

/* For tests and benchmarks of the search: `fn` gives every verdict on the spot, in
 * place of rules and workers. NULL from it: the worker has ended for good. */
typedef json_t *verifier_fake_fn(const struct candidate *c, void *arg);
struct verifier *verifier_fake(verifier_fake_fn *fn, void *arg);

/* ---- who answers ---- */

/* The worker has ended for good: nothing more will be judged. */
bool verifier_is_dead(const struct verifier *v);
/* Jobs without an answer that only another host can give, after this program
 * has ended; if it is stopping, also those that would wait for a worker to
 * come. */
size_t verifier_elsewhere(const struct verifier *v, bool stopping);
/* Tells the user how to get the missing answers, or how to retry what failed on
 * the other host. NULL: there is nothing to do. The caller frees it. */
char *verifier_hint(const struct verifier *v);

#endif
