/* door.h: the one way to a verdict. Every command that wants one comes through
 * here: the static rules first, then a job for a worker, then the pack's hint
 * behind the feedback. Whether the worker runs here or on another host is up to
 * the back end (backend.h).
 *
 * A record is what `verify --json` prints. No record means that the machinery
 * failed, which says nothing about the candidate; a record whose verdict is
 * "infra" means the same, and with `"unusable": true` trying again is of no use:
 * the task cannot be judged. */
#ifndef VERIFY_DOOR_H
#define VERIFY_DOOR_H

#include "base/err.h"
#include "base/home.h"
#include "base/json.h"
#include "base/opt.h"
#include "io/loop.h"
#include "pack/pack.h"
#include "task/task.h"
#include "verify/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A record (borrowed), or NULL and why there is none. */
typedef void door_fn(const json_t *record, const char *why, void *arg);

struct candidate {
    const struct pack *pack;
    const struct task *task;
    struct str code;
    size_t attempt; /* inputs are drawn anew for each */
    const struct job_opts *job;
};

/* What the search needs of a door; its tests have one of their own. */
struct door {
    const struct door_type *type;
};
struct door_type {
    int (*judge)(struct door *d, const struct candidate *c, door_fn *fn,
                 void *arg, struct err *e);
    bool (*is_dead)(const struct door *d);
    size_t (*elsewhere)(const struct door *d);
};

/* Judges a candidate, whose parts are borrowed for the call only, but for the
 * pack, which must outlive the door. `fn` is called once: before this returns,
 * or from the loop. On -1 it is not called. */
int door_judge(struct door *d, const struct candidate *c, door_fn *fn,
               void *arg, struct err *e);
/* The worker has ended for good: nothing more will be judged. */
bool door_is_dead(const struct door *d);
/* Jobs that only another host can answer. */
size_t door_elsewhere(const struct door *d);

/* ---- the real one ---- */

/* All borrowed until door_close(). */
struct door_opts {
    const struct home *home;
    const char *verifier; /* "local", or "jobs=DIR" */
    const char *device;   /* "cpu", "cuda:N" */
    const char *box;
    int64_t children;
    bool unsafe;
    const struct opt_list *packs;
    /* Inputs are drawn from it, so the same secret asks the same again. NULL: a
     * new one, or that of the folder of jobs. */
    const char *secret;
};

/* Answers come from `l`, which the caller runs, or door_wait(). */
struct door *door_open(struct loop *l, const struct door_opts *o,
                       struct err *e);
/* Takes NULL, too. Questions that are open are dropped. */
void door_close(struct door *d);

/* Asks whether a task can be judged: its record has `usable` and `reasons`.
 * `self_test` also tries answers whose verdict is known. */
int door_check_task(struct door *d, const struct task *t,
                    const struct job_opts *o, bool self_test, door_fn *fn,
                    void *arg, struct err *e);

/* Runs the loop until all answers that can come are there, or somebody stops
 * the loop. Returns how many are missing. */
size_t door_wait(struct door *d);
/* Nobody is told of the answers that are missing now. */
void door_drop(struct door *d);
/* How to get answers that are missing, or to try again what failed elsewhere;
 * NULL: there is nothing to do. The caller frees it. */
char *door_hint(const struct door *d);

#endif
