/* attempt.h: one attempt at a task, in this order: choose examples, ask for a
 * plan and then for code (or for a program at once), get a verdict, let the
 * reviewer read a correct kernel (reviewer "loop" only), write the rows.
 *
 * The rows are given to the store after the review, in this order: verdict,
 * examples, attempt. The attempt is over when all of them are on disk. They are
 * not one transaction. A crash in between can leave a verdict without its
 * attempt; resuming then uses that verdict and neither judges nor reviews again.
 * If the reviewer refuses the kernel, the verdict in the rows is "hack", with
 * the rule "reviewer".
 *
 * Code that an earlier attempt at the same task had gets the same verdict
 * without being judged again. If the verifier fails, the code is judged a
 * second time, unless the task cannot be judged at all or the worker is dead.
 * If it fails again, or cannot be judged again, the task is set aside. A dead
 * worker also stops the search (SEARCH_STUCK). */
#ifndef SEARCH_ATTEMPT_H
#define SEARCH_ATTEMPT_H

#include "base/arena.h"
#include "llm/ledger.h"
#include "search/state.h"

/* The limits of --examples and --history. evolve_db.h itself allows more. */
#define MAX_EXAMPLES 16
#define MAX_HISTORY  8

enum attempt_end {
    ATTEMPT_DONE,      /* its rows are on disk */
    ATTEMPT_ASIDE,     /* its task is set aside: provider or verifier failed;
                          resuming makes it again */
    ATTEMPT_ABANDONED, /* the run stops; resuming makes it again */
    ATTEMPT_NO_BUDGET, /* the same, because the budget is used up */
    ATTEMPT_FAILED,    /* and so has the search: state_fail() */
};

struct attempt {
    struct search *s;
    struct task_state *state;
    enum attempt_end end;
    int number, iteration, batch;
    struct arena memory;
    /* what was decided */
    const char *retrieval;
    size_t visible;  /* entries of the archive: those after them have no part */
    int64_t version; /* of the archive */
    struct find_hit hit[MAX_EXAMPLES];
    size_t hit_count;
    size_t piece_rank;  /* of the example in the place for pieces; 0: none */
    int parent, island; /* 0: no earlier attempt; -1: no islands */
    int other[MAX_HISTORY];
    size_t other_count;
    /* what is asked */
    char asked[HASH_HEX]; /* of task id, source hash and attempt number; the
                             prompt follows from them and `visible` */
    struct prompt prompt;
    struct ledger_reservation
        reservation; /* under a cap, plan and code share it */
    /* the result */
    struct str plan, code;
    /* `normal` is the hash of the code without comments, docstrings and white
     * space: two attempts with the same one have the same code. */
    char plan_blob[HASH_HEX], code_blob[HASH_HEX], normal[HASH_HEX];
    json_t *record;
    bool judged;       /* the record came from the verifier now */
    int same_as;       /* an earlier attempt with this code, or 0 */
    int infra;         /* how often the verifier has failed */
    int64_t judged_ns; /* how long judging took */
};

/* Makes the task's next attempt, from a coroutine. */
enum attempt_end attempt_run(struct search *s, struct task_state *t);

#endif
