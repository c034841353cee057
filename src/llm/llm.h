/* llm.h: calls to a language model, any number at once, with any provider.
 *
 * One client (llm.c) for all providers (provider.h): it reserves money before
 * anything is sent, respects rate limits, retries what may succeed, pauses while
 * the provider is down, and prices every reply. A call without an answer is the
 * provider's failure, never a task's.
 *
 * Money: `reserved` is called when the reservation of a call has been made or has
 * grown (a request that was lost may have been billed, so its repetition needs a
 * reservation of its own). Nothing is sent until the caller has stored that figure
 * and calls llm_go(). */
#ifndef LLM_LLM_H
#define LLM_LLM_H

#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"
#include "llm/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct llm_message {
    const char *role; /* "system", "user", "assistant" */
    struct str text;
    size_t shared; /* bytes at the start that many requests share: providers
                      with prompt caching mark their end; 0: none */
};

/* Who asks: unique in a run, and the key of a cassette. */
struct llm_key {
    const char *task, *method, *stage; /* stage: "plan", "code", "evolve", … */
    int attempt;                       /* from 1 */
};

/* All borrowed until the call is done. */
struct llm_request {
    struct llm_key key;
    const struct llm_message *message;
    size_t count;
    uint64_t seed;
    int64_t max_tokens; /* 0: the provider's setting */
    /* What an earlier run of the program reserved for it; its own reservation
     * replaces that. */
    struct llm_cost held;
};

enum llm_outcome {
    LLM_ANSWERED,
    LLM_FAILED,    /* after all retries; may succeed later */
    LLM_REFUSED,   /* will never succeed: wrong key, unknown model, … */
    LLM_NO_BUDGET, /* the next request does not fit under the cap */
};
enum llm_finish {
    LLM_STOP,
    LLM_LENGTH,   /* cut at the token limit */
    LLM_FILTERED, /* the provider withheld the rest */
};
extern const char *const llm_outcomes[], *const llm_finishes[];

struct llm_usage {
    int64_t input, cached, output, reasoning; /* cached is a part of input,
                                                 reasoning one of output */
    bool estimated;                           /* the provider did not say */
    int64_t written; /* a part of input that the provider charges for putting
                        into its cache; disjoint from cached */
};

/* Borrowed; gone when the callback returns. */
struct llm_reply {
    enum llm_outcome outcome;
    enum llm_finish finish;
    struct str text;    /* the answer, without what the model thought */
    struct str thought; /* its reasoning, where the provider hands it out */
    struct str model;   /* the name the provider gave itself */
    struct llm_usage usage;
    struct llm_cost cost; /* what it took from the budget, lost requests too */
    struct llm_cost assumed; /* of that, what the provider has not metered */
    int requests; /* HTTP requests, commands, files: all that went out */
    int64_t wall_ns;
    const char *error; /* "" when answered; holds no key, no URL */
};

/* ---- a client ---- */

struct llm;

/* How to reach a model and what it may cost. */
struct llm_opts {
    const char *provider; /* a provider_type's name */
    const char *base_url; /* NULL: the provider's own */
    const char *model;
    const char *command;  /* exec: run by sh -c */
    const char *folder;   /* spool */
    const char *cassette; /* replay */
    bool replay_strict;   /* a different prompt is an error */
    bool stream;          /* ask for server-sent events */
    double temperature;   /* < 0: not sent */
    int64_t max_tokens;   /* of an answer */
    const char *effort;   /* reasoning_effort; NULL: not sent */
    const char *extra;    /* a JSON object of more body fields, or NULL */
    const char *organisation, *project;
    const char *ca_file;
    bool insecure;
    bool dry; /* nothing is sent: no key is needed, no folder created */
    int64_t in_flight; /* calls at once */
    int64_t timeout_ms;
    int retries;
    int64_t requests_per_minute, tokens_per_minute; /* 0: no limit */
    const char *prices; /* another price file, or NULL */
    const char *price;  /* "IN,OUT[,CACHED]": dollars per million tokens */
};

/* `budget` is the caller's; it and the strings in `o` outlive the result. `home`
 * is the folder with prices.ini. */
struct llm *llm_open(struct loop *l, const struct llm_opts *o,
                     struct budget *budget, const char *home, struct err *e);
/* The same for vectors: each message of a request is a text, and the answer's text
 * is their vectors, one after the other, as floats of this machine. Of the options
 * it reads base_url, model, organisation, project, ca_file, insecure, timeout_ms and
 * those of the pace. Keys as for the provider openai. */
struct llm *llm_open_embeddings(struct loop *l, const struct llm_opts *o,
                                struct budget *budget, const char *home,
                                struct err *e);
void llm_close(struct llm *l); /* not from a handler */

/* From now on, also writes every answered call to this cassette. The header of a
 * new one contains `secret` (or NULL). Without a cassette it does nothing. */
int llm_record(struct llm *l, const char *cassette, const char *secret,
               struct err *e);

/* Whether the provider's answers cost money, and whether a price is known. */
bool llm_is_priced(const struct llm *l);
bool llm_has_price(const struct llm *l);
/* Repeating a request is free: it has an id, and so has its answer. */
bool llm_is_patient(const struct llm *l);

/* ---- calls ---- */

struct llm_call;

struct llm_handlers {
    /* May be NULL: then calls go at once. */
    void (*reserved)(struct llm_call *c, struct llm_cost total, void *arg);
    void (*done)(struct llm_call *c, const struct llm_reply *r, void *arg);
};

/* Starts a call. `arg` comes back in the handlers, never from inside this
 * function. An error is a request that makes no sense. */
struct llm_call *llm_ask(struct llm *l, const struct llm_request *r,
                         const struct llm_handlers *h, void *arg,
                         struct err *e);
void llm_go(struct llm_call *c);
/* Forgets the call; its handlers are not called any more. What it had reserved
 * stays reserved, since the provider may bill it. */
void llm_cancel(struct llm_call *c);
/* Ends a call that waits for its turn, or to be sent again, as failed, before
 * this returns: it costs what was lost before. False, and nothing happens, when
 * a request is under way, when llm_go() is still to come, and with a patient
 * provider, who may have it from before. */
bool llm_withdraw(struct llm_call *c);

/* What a request could cost at most, and about how many tokens go in. */
struct llm_cost llm_worst_case(const struct llm *l,
                               const struct llm_request *r);
/* The same for a request that an answer is still to be put into, of its full
 * length at 4 bytes a token. */
struct llm_cost llm_worst_after_answer(const struct llm *l,
                                       const struct llm_request *r);
int64_t llm_estimate_tokens(struct str text);

/* Calls that are under way, and of these the ones that wait for somebody else:
 * answers of a folder that are not there yet, and what cannot go out before
 * they are. */
size_t llm_pending(const struct llm *l);
size_t llm_waiting(const struct llm *l);
/* What a person should know now: "paused for 30 s: 429 …", or "". */
const char *llm_state(const struct llm *l);

#endif
