/* verifier.h: jobs to a worker and answers back: to one that is started here,
 * or through a folder to one that runs anywhere else.
 *
 * A job's id is the hash of what it says, so the same question is never asked
 * twice: with a folder, a job that has an answer there is answered at once, and
 * one that is in the jobs file already is not written again. A job that the
 * worker there could not judge has its reason at once; it stays in the jobs
 * file, so a worker that is started again tries it again. A worker of our own
 * that ends is started again, and its jobs with it. */
#ifndef VERIFY_VERIFIER_H
#define VERIFY_VERIFIER_H

#include "base/err.h"
#include "base/home.h"
#include "base/json.h"
#include "base/opt.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Options that every command with a verifier has. */
struct verifier_opts {
    const char *verifier; /* "local", or "jobs=DIR" */
    const char *device;   /* "cpu", "cuda:N" */
    const char *box;
    int64_t children;
    bool unsafe;
    const struct opt_list *packs;
};

struct verifier;

/* The answer to a job: the judge's record, or NULL and why there is none. The
 * record is borrowed; its verdict may be "infra", and with `"unusable": true`
 * trying again is of no use: the task cannot be judged. */
typedef void verifier_fn(void *job, const json_t *answer, const char *why,
                         void *arg);

/* `o` and `home` are borrowed until the end. */
struct verifier *verifier_open(struct loop *l, const struct verifier_opts *o,
                               const struct home *home, verifier_fn *fn,
                               void *arg, struct err *e);
void verifier_close(struct verifier *v);

/* Asks; `what` is taken. The answer comes from the loop, or before this
 * returns. `job` is the caller's and only handed back. */
int verifier_ask(struct verifier *v, json_t *what, int64_t deadline_ms,
                 void *job, struct err *e);
/* The worker has ended for good: it cannot be started, or ends again and again
 * without an answer. A job that is asked has none at once. */
bool verifier_is_dead(const struct verifier *v);
/* Jobs that were asked and have no answer. */
size_t verifier_pending(const struct verifier *v);
/* Waits for the answers that can come. With a folder, those are in already;
 * what is missing stays pending. `hint` (the caller frees it) says how to get
 * it, or how to try again what failed there; NULL: there is nothing to do. */
int verifier_wait(struct verifier *v, char **hint, struct err *e);

/* The secret that seeds are made from: of this process, or the folder's own, so
 * that a command run again asks the same. */
const char *verifier_secret(const struct verifier *v);

#endif
