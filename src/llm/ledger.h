/* ledger.h: calls to a model. A reply that is in the store is never lost, and
 * never asked or paid for again.
 *
 * A call takes five steps: reserve, store, send, store, use. The client (below)
 * reserves, under the cap, the most that the request can cost; the row of the
 * call, with the reservation, is written and on disk; the request goes out;
 * when it ends, the client replaces the reservation by the real cost, and the
 * row gets the reply and the cost; when that is on disk, too, the caller gets
 * the reply. A client that repeats a request which may have been billed counts
 * it as spent and reserves again, and the row is written again before the
 * request is repeated. So wherever the program ends, the cap holds (but see
 * budget_settle()), and:
 *   - a reply in the store is found again, and the question is not sent again;
 *   - a call that may have gone out without a stored reply is "lost": it counts
 *     as spent, at the reservation in its row, and the question is sent again
 *     as its next try.
 *
 * A question is identified by its purpose ("plan", "code", "evolve", "review",
 * "review-repair", "guide", "decompose", "borrowing", "borrowing-repair",
 * "backfill", "embed") and a hash of what is asked. The caller decides what to
 * hash: a prompt, or a task and the number of an attempt.
 *
 * A caller that asks a question already under way joins that call. It is sent
 * and paid for once, and all callers get the answer, however it ends. If the
 * first caller is cancelled, the next one asks and pays again, unless the reply has
 * come: that is stored and remembered, whoever is cancelled.
 *
 * Room under the cap. If a call does not fit now, but would if the calls in flight turned
 * out to cost nothing, the client keeps it and waits. Otherwise it refuses the call, and
 * the ledger parks it; it also parks a call whose shared reservation does not fit. Parked
 * calls are tried again when a call ends or a shared reservation is closed. When only
 * parked calls are left, they end with LEDGER_NO_BUDGET, in the order of asking. If a
 * caller that hears so stops the ledger, the rest end with LEDGER_STOPPED.
 *
 * A client is the struct llm that sends the calls (llm/llm.h). A client is
 * patient if its provider may take days to answer, and sending a request again
 * is free, as with --spool, a folder of requests and replies. */
#ifndef LLM_LEDGER_H
#define LLM_LEDGER_H

#include "base/arena.h"
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

/* All borrowed; they outlive the ledger. */
struct ledger_parts {
    struct loop *loop;
    struct store *store;
    struct budget *budget;
    bool patient; /* the model's client is patient: calls without a reply in the
                     store are not lost, but still wait for it */
};

/* Reads the calls in the store and counts their cost in the budget. Calls that
 * were under way count as lost; with a patient client they are waited for. */
struct ledger *ledger_open(const struct ledger_parts *p, struct err *e);
/* Nobody may wait for an answer any more. */
void ledger_close(struct ledger *l); /* may be NULL */

/* Counts all calls of a store that have no reply as lost. For a run that
 * continues with another client; call it before ledger_open(). */
int ledger_lose(struct store *s, struct err *e);

/* A reservation for calls that belong together, made for all of them before the
 * first is sent. Embedded by the caller, all zero at first. It is not stored:
 * after a crash, each of the calls that are left makes its own reservation. */
struct ledger_reservation {
    struct llm_cost rest; /* what no call has used yet */
};
/* Returns the rest to the budget. For the caller, when the last of the calls is
 * over or dropped. */
void ledger_reservation_close(struct ledger *l, struct ledger_reservation *p);

struct ledger_question {
    const char *purpose, *asked; /* together they identify the question */
    int64_t task, attempt;       /* stored with it; -1 and 0: of no task */
    struct llm *client;
    struct llm_request request; /* the ledger fills in `held` */
    const char *prompt_hash;    /* identifies the request's text */
    bool prompt_stored;         /* the store has a blob of that hash: the list
                                   of messages (docs/STORAGE.md, `call`) */
    struct ledger_reservation
        *reservation;     /* where its reservation comes from; NULL: it
                                   makes its own */
    struct llm_cost then; /* the most that later calls on it can cost:
                             reserved together with this call */
};

enum ledger_end {
    LEDGER_ANSWERED, /* the reply is in the store */
    LEDGER_FAILED,   /* the provider refuses it, or five tries have failed, each
                         in a row of its own with what it cost; the last row may
                         not be on disk yet. A later run asks again */
    LEDGER_NO_BUDGET, /* it does not fit under the cap */
    LEDGER_STOPPED,   /* after ledger_stop(); a later run asks it again */
    LEDGER_BROKEN,    /* the store cannot be read or written */
};

struct ledger_answer {
    enum ledger_end end;
    struct str text; /* "" unless answered */
    bool cut;        /* at the token limit */
    const char *why; /* LEDGER_FAILED; else "" */
    /* LEDGER_NO_BUDGET: the least dollars and the least tokens that any of the
     * parked calls needs, each by itself: the most that it and its `then` can
     * cost, without what is reserved for it already. For an attempt that is plan
     * and code. */
    struct llm_cost need;
    const struct err *err; /* LEDGER_BROKEN; else NULL */
};

/* Asks, from a coroutine, and waits for the answer. It does not wait if the reply
 * is in the store already, or after ledger_stop(). What the question points to is
 * borrowed until then; what `out` points to is in `memory`. -1 when the coroutine
 * was cancelled: the reservation of a request that has gone out stays, since it may
 * be billed; when the store is opened again, the call counts as lost, or is waited
 * for if the client is patient. */
int ledger_ask(struct ledger *l, const struct ledger_question *q,
               struct arena *memory, struct ledger_answer *out);
/* The `prompt_hash` with which a question was asked whose reply is stored or may
 * still come; NULL: none, so it will be asked with the prompt that it has
 * then. */
const char *ledger_asked_with(const struct ledger *l, const char *purpose,
                              const char *asked);
/* Sends no more requests. Calls that have not gone out end now, with
 * LEDGER_STOPPED; the others end with their replies. */
void ledger_stop(struct ledger *l);

/* Calls that a client has, and parked calls. */
size_t ledger_in_flight(const struct ledger *l);
size_t ledger_parked(const struct ledger *l);

/* SHA-256 of a formatted text, in hexadecimal. */
void ledger_hash(char out[HASH_HEX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
