/* ledger.h: a call to a model that is paid for once and never lost.
 *
 * A call takes five steps: reserve, store, send, store, use. The most that it
 * can cost is reserved under the budget's cap; the reservation is stored; the
 * request goes out; the reply is stored; then whoever asked gets it. So the
 * cap holds wherever the program ends, and so does this:
 *   - a reply in the store is found again, and the question is not sent again;
 *   - a request that may have gone out counts as spent at its worst ("lost"),
 *     and the question is sent again as its next try.
 *
 * A question is known by its purpose ("plan", "review", "embed") and by a hash
 * of what is asked. Who asks decides what makes two questions the same one:
 * ledger_hash() over a prompt, or over a task and the number of an attempt.
 *
 * A call that does not fit under the cap is parked until others have cost less
 * than they might have. When no call is left that could make room, every parked
 * call ends with LEDGER_NO_BUDGET. */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "io/loop.h"
#include "llm/budget.h"
#include "llm/llm.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger;
struct ledger_call;

/* All borrowed; they outlive the ledger. */
struct ledger_parts {
    struct loop *loop;
    struct store *store;
    struct budget *budget;
    bool patient; /* the model's front is: calls that are open in the store
                     still wait for their answers */
};

/* Reads the calls in the store: what they cost is put into the budget, and
 * calls that were under way count as lost, unless the front is patient. */
struct ledger *ledger_open(const struct ledger_parts *p, struct err *e);
/* Drops the calls under way; the store has what it needs to go on. Not from a
 * callback. */
void ledger_close(struct ledger *l); /* may be NULL */

/* Counts all open calls of a store as lost. For a run that continues with
 * another front than the one that asked; before ledger_open(). */
int ledger_lose(struct store *s, struct err *e);

/* Money for calls that belong together: it is there for all of them before the
 * first is sent. Embedded by the caller, all zero at first. */
struct ledger_purse {
    struct llm_cost rest;
};
void ledger_purse_close(struct ledger *l, struct ledger_purse *p);

/* Borrowed until the call is over. */
struct ledger_question {
    const char *purpose, *asked; /* together: which question it is */
    int64_t task, attempt; /* for the store's reader; -1 and 0: no task's */
    struct llm *front;
    struct llm_request request; /* `held` is the ledger's */
    const char *prompt_hash;    /* identifies the request's text */
    bool prompt_stored;         /* the store has a blob of that name */
    struct ledger_purse *purse; /* pays for it; NULL: it pays for itself */
    struct llm_cost then; /* what calls that follow on the same purse may cost:
                             reserved with this one, or neither is */
};

enum ledger_end {
    LEDGER_ANSWERED,  /* the reply is in the store */
    LEDGER_FAILED,    /* the provider refuses it, or has failed too often */
    LEDGER_NO_BUDGET, /* there is no room for it under the cap */
    LEDGER_STOPPED,   /* after ledger_stop(); a later run asks it again */
    LEDGER_BROKEN,    /* the store cannot be read or written */
};

/* Borrowed; gone when the callback returns. */
struct ledger_answer {
    enum ledger_end end;
    struct str text;       /* "" unless answered */
    bool cut;              /* at the token limit */
    const char *why;       /* LEDGER_FAILED; else "" */
    struct llm_cost need;  /* LEDGER_NO_BUDGET: the least that a parked call
                               would take */
    const struct err *err; /* LEDGER_BROKEN; else NULL */
};
typedef void ledger_fn(void *arg, const struct ledger_answer *a);

/* Asks. `fn` is called once: from here when the reply is in the store already
 * or nothing may be asked any more, else from the loop. Returns the call, which
 * is gone when `fn` has been called; NULL when that has happened already. */
struct ledger_call *ledger_ask(struct ledger *l,
                               const struct ledger_question *q, ledger_fn *fn,
                               void *arg);
/* Drops the call; `fn` will not be called. What it had reserved stays reserved,
 * since the provider may bill it. */
void ledger_drop(struct ledger_call *c);

/* Nothing is asked any more. Calls that have not gone out end now, with
 * LEDGER_STOPPED; the others end with their replies. */
void ledger_stop(struct ledger *l);

/* Calls that have been handed to a front, and calls that wait for room. */
size_t ledger_in_flight(const struct ledger *l);
size_t ledger_parked(const struct ledger *l);

/* SHA-256 of a formatted text, in hexadecimal. */
void ledger_hash(char out[HASH_HEX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
