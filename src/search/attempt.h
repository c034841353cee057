/* attempt.h: one attempt from the choice of its examples to its verdict. */
#ifndef SEARCH_ATTEMPT_H
#define SEARCH_ATTEMPT_H

#include "base/arena.h"
#include "ledger/ledger.h"
#include "search/search_int.h"

#define MAX_EXAMPLES 16
#define MAX_HISTORY  8

enum attempt_end {
    ATTEMPT_DONE,      /* it is the past of its subject now */
    ATTEMPT_ASIDE,     /* the machinery failed it, and so its subject */
    ATTEMPT_ABANDONED, /* nothing is asked any more: made when the run goes on */
    ATTEMPT_NO_BUDGET, /* likewise, for want of money */
};
typedef void attempt_fn(struct search *s, struct subject *t,
                        enum attempt_end end);

struct attempt {
    struct search *s;
    struct subject *subject;
    attempt_fn *over;
    int number, iteration, batch;
    struct arena memory;
    /* what was decided */
    const char *retrieval;
    int64_t version; /* of the archive */
    struct find_hit hit[MAX_EXAMPLES];
    size_t hit_count;
    int parent, island; /* 0, -1: none */
    int other[MAX_HISTORY];
    size_t other_count;
    /* the call under way */
    char asked[HASH_HEX];
    enum prompt_stage stage;
    struct prompt prompt;
    struct ledger_purse purse; /* for plan and code */
    struct ledger_call *call;
    struct reading *reading; /* by the reviewer, or NULL */
    /* what came of it */
    struct str plan, code;
    char plan_blob[HASH_HEX], code_blob[HASH_HEX], normal[HASH_HEX];
    json_t *record;
    struct past result;
    int same_as;       /* an earlier attempt with this code; 0: none */
    int infra;         /* how often the verifier had no verdict */
    int64_t judged_ns; /* since when it is, then how long it took */
    struct attempt *prev, *next; /* all that are under way */
};

/* Starts the subject's next attempt. `over` is called once, from here or from
 * the loop, when the attempt is gone. */
void attempt_start(struct search *s, struct subject *t, attempt_fn *over);
void attempt_free(struct attempt *a);

/* attempt_prompt.c: builds the prompt of a stage with a->plan. */
int attempt_prompt(struct attempt *a, enum prompt_stage stage,
                   struct prompt *out, struct err *e);
/* Puts its parts into the store; what prompts share is a blob of its own. */
void attempt_store_prompt(struct attempt *a);

/* result.c: what the record of an attempt means; writes its rows. */
int result_write(struct attempt *a, struct past *out, struct err *e);
/* Puts times that were kept apart back into a record. */
void result_give_times(json_t *record, const char *times);

#endif
