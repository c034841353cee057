/* ask_all.h: many units of work that ask a model, the verifier, or both:
 * kernels whose plans are wanted, candidates, tasks that are to be divided.
 * Each is one straight function on a coroutine, which waits for its answers; a
 * few hundred run at a time. They end together: when all are done, or at the
 * first failure that concerns all of them.
 *
 * When the work is stopped, it still waits for replies in progress, which are
 * paid for; the next run of the program uses what is in the store. The work
 * ends at once when it is stopped a second time, when no call is in progress,
 * or when the client is patient. */
#ifndef LLM_ASK_ALL_H
#define LLM_ASK_ALL_H

#include "io/co.h"
#include "llm/ledger.h"

enum ask_end {
    ASK_DONE,
    ASK_WAITING, /* never from ask_all(): what is left waits for another host */
    ASK_NO_BUDGET, /* for the next question */
    ASK_STOPPED,
    ASK_FAILED, /* with an error */
};

struct ask_progress {
    size_t done, open, started; /* units of work */
    size_t questions;           /* asked so far, with those of the store */
};

struct ask_work;

/* Embedded by the user. `part` and what is in it is borrowed. */
struct ask_all {
    struct ask_parts {
        struct loop *loop;
        struct ledger *ledger; /* NULL: no question is asked */
        struct llm *client;
        int64_t max_tokens; /* of an answer; 0: the provider's setting */
        size_t most;        /* units of work at a time; 0: CO_MOST */
        bool signals;       /* they stop the work; else ask_all_stop() does */
        /* Called after each answer and each unit of work; may be NULL. */
        void (*step)(const struct ask_progress *p, void *arg);
        void *arg;
    } part;
    struct ask_progress progress;
    struct ask_work *newest;
    size_t under_way; /* questions */
    int stopping;
    bool over;
    enum ask_end end;
    struct err err;
};

/* One unit of work; `item` and `arg` are its caller's. -1: it fails, and so do
 * all with it, unless there is an end already; without an error it is just not
 * done. */
typedef int ask_fn(struct ask_all *a, size_t item, void *arg, struct err *e);

/* Does the items 0 to count-1 and what they start; runs the loop. */
enum ask_end ask_all(struct ask_all *a, size_t count, ask_fn *fn, void *arg,
                     struct err *e);
/* From a callback of the loop. */
void ask_all_stop(struct ask_all *a);

/* ---- within a unit of work ---- */

/* Asks. The caller fills in what identifies the question, and of the request the
 * key and the messages. 0: `out` says LEDGER_ANSWERED or LEDGER_FAILED, and is good
 * as long as `memory`. -1: the work ends for all; the caller releases what it has
 * and returns -1. */
int ask_all_question(struct ask_all *a, const struct ledger_question *q,
                     struct arena *memory, struct ledger_answer *out);
/* Units of work that another one starts and waits for. All zero at first. */
struct ask_group {
    size_t open;
    struct co_event over;
};
/* Where enough work is open, it is done before this returns. */
void ask_all_start(struct ask_all *a, struct ask_group *g, ask_fn *fn,
                   void *arg);
/* Until all of the group is over: the group must not go before that. */
int ask_all_wait(struct ask_group *g);

#endif
