/* front_int.h: shared by the files of the client: llm.c (calls), pump.c (what may be
 * sent), settle.c (how a request ended). */
#ifndef LLM_FRONT_INT_H
#define LLM_FRONT_INT_H

#include "llm/cassette.h"
#include "llm/front.h"
#include "llm/rate.h"
#include "llm/retry.h"

/* A call is in one list: `queued` until it has a slot, `funding` until money for its
 * next request is reserved, `ready` until that is sent, otherwise `away`: with the
 * caller, the provider, or a timer. */
struct call_list {
    struct llm_call *first, *last;
    size_t n;
};

struct llm_call {
    struct llm *llm;
    struct llm_call *next, *prev;
    struct call_list *list; /* NULL: it has ended and its handler runs */
    struct llm_request request;
    struct llm_handlers handlers;
    void *arg;
    struct llm_cost worst; /* of one request */
    struct llm_cost held;  /* reserved for the next or current request */
    struct llm_cost lost;  /* spent on requests without an answer */
    struct send *send;     /* in flight, or NULL */
    uint64_t timer;        /* of the back-off, or 0 */
    int64_t began_ns;      /* the first request */
    int64_t rated;         /* tokens counted toward the rate limit */
    int requests;
    bool told, probe; /* waits for llm_go(); tests a closed connection */
};

struct llm {
    struct loop *loop;
    struct provider *provider;
    struct llm_rules rules;
    struct price price;
    struct budget *budget;
    struct call_list queued, funding, ready, away;
    size_t sent; /* with the provider */
    struct rate requests, tokens;
    struct backoff backoff;
    struct breaker breaker;
    char state[300]; /* for llm_state() */
    uint64_t pump_id, wake_id;
    int64_t wake_ns; /* when wake_id is due */
    struct cassette_writer *record;
    bool warned_estimate;
};

void call_move(struct llm_call *c, struct call_list *to); /* to its end */
/* Ends the call: removes it, calls `done`, frees it. */
void call_finish(struct llm_call *c, enum llm_outcome outcome,
                 const char *error);
/* A provider's answer to call_send(). */
void call_ended(void *arg, const struct send_result *r);
/* An upper bound of the tokens in a request. */
int64_t call_input_bound(const struct llm_request *r);
int64_t call_max_tokens(const struct llm *l, const struct llm_request *r);

/* Sends what may be sent, from the loop: now, or in `ns` at the latest. */
void pump_soon(struct llm *l);
void pump_in(struct llm *l, int64_t ns);

#endif
