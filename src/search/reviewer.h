/* reviewer.h: a model reads a correct kernel and scores whether it is honest. A
 * kernel with a low score is refused. Calls go through the ledger, so a reply
 * is on disk before it counts, and the kernel of an attempt is reviewed
 * once. */
#ifndef SEARCH_REVIEWER_H
#define SEARCH_REVIEWER_H

#include "llm/ledger.h"
#include "pack/pack.h"
#include "prompt/ask.h"
#include "prompt/prompt.h"
#include "search/search.h"

struct reviewer;

/* All borrowed. */
struct reviewer_parts {
    struct ledger *ledger;
    struct store *store;
    struct llm *llm;
    struct prompts *prompts;
    const struct pack *pack;
    const char *model, *method, *precision;
    double threshold; /* a lower score is a refusal */
};

/* Reads which reviews the store has, so that none is stored twice. */
struct reviewer *reviewer_new(const struct reviewer_parts *p, struct err *e);
void reviewer_free(struct reviewer *v); /* may be NULL */

/* A kernel to read. */
struct reviewer_kernel {
    const char *task_id;
    int64_t task; /* its place in the run */
    struct str source, code;
    int attempt;
    const char *asked; /* identifies the attempt; see ledger.h */
};

enum reviewer_end {
    REVIEWER_PASSED, /* also if the answer is missing or unreadable */
    REVIEWER_REFUSED,
    REVIEWER_STOPPED, /* the run stops, or the coroutine was cancelled; resuming
                         asks again */
    REVIEWER_NO_BUDGET,
    REVIEWER_BROKEN, /* the store cannot be read or written */
};

struct reviewer_word {
    enum reviewer_end end;
    char why[128];               /* REVIEWER_REFUSED: the score, in a line */
    const struct review *review; /* what it said, or NULL */
    struct llm_cost need;        /* REVIEWER_NO_BUDGET */
    const struct err *err;       /* REVIEWER_BROKEN */
};

/* From a coroutine: reads it. What `out` points to is in `memory`. */
void reviewer_read(struct reviewer *v, const struct reviewer_kernel *k,
                   struct arena *memory, struct reviewer_word *out);

/* Reviewer "end", after SEARCH_DONE: reads the entries that the run has added to the
 * archive; refused ones are withdrawn, once all have been read. Sets `end` if not all
 * could be read. */
int reviewer_finish(struct search *s, enum search_end *end, struct err *e);

#endif
