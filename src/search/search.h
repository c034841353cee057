/* search.h: the search of a run: tasks, a model, a verifier, an archive that
 * grows, and one of five methods that decides what to try next.
 *
 * In strict order, every decision follows from the options, the stored replies
 * and the stored verdicts. So a run that continues after a crash is the same
 * run: it makes its decisions again from the start, and asks for nothing that
 * the store already has.
 *
 * A reply is on disk before it is used, and a reservation before its request
 * goes out. A verdict is on disk before another attempt depends on it; only
 * the review of the same attempt comes earlier. */
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
    struct llm *llm;       /* the model */
    const char *model;     /* the model's name, or NULL */
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

/* Before search_run(): adds the tasks in the run's order. `skipped` says why a
 * task takes no part; NULL: it does. `vector` is that of its source, `dim`
 * floats; it is copied. */
void search_add_task(struct search *s, const struct task *t,
                     const char *skipped, const float *vector);
/* A member of the archive. The caller adds those that the run starts with; the
 * search adds the run's own. */
struct search_example {
    const char *origin; /* "seed": the pack's, "archive": --archive, "run" */
    const char *name, *task_hash, *evidence;
    struct str problem, plan /* p NULL: none */, solution;
    const float *vector;
    const char *const *ops;
};
void search_add_example(struct search *s, const struct search_example *x);

enum search_end {
    SEARCH_DONE,        /* every task is solved or has used its attempts */
    SEARCH_WAITING,     /* only answers from elsewhere are missing */
    SEARCH_NO_BUDGET,   /* resumable with a higher cap */
    SEARCH_INTERRUPTED, /* search_stop() */
    SEARCH_STUCK,       /* provider or verifier failed tasks; resumable */
};

/* Continues from what the store holds until one of the ends above. -1 when it
 * cannot continue, for instance because the store cannot be written. */
int search_run(struct search *s, enum search_end *end, struct err *e);
/* Sends no more requests, and ends when the open ones are answered and judged.
 * The second call ends the search now. */
void search_stop(struct search *s);

struct search_counts {
    /* solved: has a correct attempt; aside: provider or verifier failed it;
     * open: attempts under way */
    size_t tasks, skipped, solved, aside, attempts, open;
    size_t doubted; /* correct kernels refused since search_run() began */
    int iteration, iterations;
    size_t verdict[VERDICTS];
    size_t calls_in_flight;
    size_t over; /* tasks that make no more attempts, without skipped ones */
};
struct search_counts search_count(const struct search *s);
/* After SEARCH_NO_BUDGET: what the next attempt or review may cost. */
struct llm_cost search_need(const struct search *s);

/* One line about its progress. */
void search_describe(const struct search *s, struct buf *out);
/* Called from the loop whenever something changed. */
void search_watch(struct search *s, void (*fn)(void *arg), void *arg);

#endif
