/* search.h: a run: a collection of tasks, a model, a verifier, an archive that
 * grows, and one of five methods that decides what to try next.
 *
 * Everything that decides is a function of the seed, the stored replies and the
 * stored verdicts. So a run that goes on after a crash is the same run: the
 * decisions are made again from the start, and what is in the store already is
 * not asked again.
 *
 * A reply is on disk before it is used, a verdict before anything depends on
 * it, a reservation before its request goes out. */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/err.h"
#include "io/loop.h"
#include "ledger/ledger.h"
#include "llm/budget.h"
#include "llm/llm.h"
#include "pack/pack.h"
#include "prompt/prompt.h"
#include "search/options.h"
#include "store/store.h"
#include "task/task.h"
#include "verify/door.h"
#include "verify/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct search;

/* All borrowed; they outlive the search. */
struct search_parts {
    struct loop *loop;
    struct store *store;
    struct ledger *ledger; /* every call is made through it */
    struct llm *llm;       /* the front that answers */
    const char *model;     /* its name; NULL: it has none */
    const struct budget *budget;
    struct prompts *prompts;
    const struct pack *pack;
    struct door *door;
    const struct job_opts *job; /* how candidates are judged */
    size_t dim;                 /* of every vector */
};

struct search *search_new(const struct search_parts *p,
                          const struct search_opts *o);
void search_free(struct search *s);

/* Before the start: tasks in the run's order; `skipped` says why one takes no
 * part, NULL: it does. `vector` is of its source, `dim` floats, copied. */
void search_add_task(struct search *s, const struct task *t,
                     const char *skipped, const float *vector);
/* An example from outside. */
struct search_example {
    const char *origin; /* "seed", "archive" */
    const char *name, *task_hash, *evidence;
    struct str problem, plan /* p NULL: none */, solution;
    const float *vector;
    const char *const *ops;
};
void search_add_example(struct search *s, const struct search_example *x);

enum search_end {
    SEARCH_DONE,        /* every task is solved or has used its attempts */
    SEARCH_WAITING,     /* the rest waits for answers from elsewhere */
    SEARCH_NO_BUDGET,   /* resumable with a higher cap */
    SEARCH_INTERRUPTED, /* search_stop() */
    SEARCH_STUCK,       /* the machinery failed some tasks: resumable */
};

/* Takes up what the store holds, and goes on until an end; -1 when the store
 * cannot be written or read. `dim` of the vectors. */
int search_run(struct search *s, enum search_end *end, struct err *e);
/* Asks no more; what is paid for is finished. The second time: ends now. */
void search_stop(struct search *s);

struct search_counts {
    size_t tasks, skipped, solved, aside, attempts, open;
    size_t doubted; /* solved kernels that a reviewer refused */
    int iteration, iterations;
    size_t verdict[VERDICTS];
    size_t calls_in_flight;
    size_t over; /* tasks that need no more attempts, but for skipped ones */
};
struct search_counts search_count(const struct search *s);
/* After SEARCH_NO_BUDGET: what the next attempt, or review, may cost. */
struct llm_cost search_need(const struct search *s);

/* A line about where it stands. */
void search_describe(const struct search *s, struct buf *out);
/* Called from the loop whenever something changed. */
void search_watch(struct search *s, void (*fn)(void *arg), void *arg);

#endif
