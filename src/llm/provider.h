/* provider.h: the interface of a provider. A provider sends a request once and reports
 * how it ended; it never retries, waits or counts money. */
#ifndef LLM_PROVIDER_H
#define LLM_PROVIDER_H

#include "llm/llm.h"
#include "llm/price.h"

/* How one request ended. Strings are borrowed until the callback returns. */
enum send_outcome {
    SEND_ANSWERED,
    SEND_RETRY,   /* not done, not billed: 408, 409, 429, 5xx, no connection */
    SEND_LOST,    /* broken off or timed out: may have been billed */
    SEND_REFUSED, /* will never succeed */
};
struct send_result {
    enum send_outcome outcome;
    int status;             /* HTTP's, or 0 */
    int64_t retry_after_ns; /* 0: not said */
    struct str text, thought, model;
    enum llm_finish finish;
    struct llm_usage usage; /* all 0 and estimated: not said */
    const char *error;
};

typedef void send_fn(void *arg, const struct send_result *r);

struct provider;
/* One request under way. Each provider's own begins with it. */
struct send {
    struct provider *from;
    struct send *prev, *next;
    send_fn *fn;
    void *arg;
};
/* A new one of `size` bytes, zeroed, among those of its provider. */
void *send_new(size_t size, struct provider *p, send_fn *fn, void *arg);
/* Frees it. */
void send_free(struct send *s);
/* The same, then says how it ended: what `r` points to is not the request's. */
void send_end(struct send *s, const struct send_result *r);

struct provider_type {
    const char *name;
    bool priced;                 /* answers cost money unless the price is 0 */
    bool patient;                /* answers may take days: no deadline */
    const struct http_api *http; /* of those that use HTTP: http_provider.h */
    struct provider *(*open)(const struct provider_type *t, struct loop *l,
                             const struct llm_opts *o, struct err *e);
    void (*close)(struct provider *p); /* nothing is under way */
    /* Calls `fn` once, from the loop, never from inside. */
    struct send *(*send)(struct provider *p, const struct llm_request *r,
                         send_fn *fn, void *arg, struct err *e);
    void (*cancel)(struct send *s); /* never from inside its callback */
    /* How many requests have no answer yet. NULL: all in flight. */
    size_t (*waiting)(const struct provider *p);
};
struct provider {
    const struct provider_type *type;
    struct send *first; /* under way */
};
/* Cancels what is under way. `p` may be NULL. */
void provider_close(struct provider *p);

/* The last is in no list: its requests are texts, its answers vectors (embeddings.c). */
extern const struct provider_type provider_openai, provider_anthropic,
    provider_exec, provider_spool, provider_replay, provider_embeddings;

/* NULL with ERR_USAGE and the names when there is none of this name. */
const struct provider_type *provider_find(const char *name, struct err *e);

/* ---- a client over a provider ---- */

/* llm_open() derives them from the options; tests bring their own. */
struct llm_rules {
    int64_t max_tokens; /* default for an answer; > 0 */
    int64_t in_flight;  /* calls at once; 0: any number */
    int retries;        /* per call, after the first request */
    int64_t requests_per_minute, tokens_per_minute; /* 0: no limit */
    int64_t backoff_base_ns, backoff_cap_ns;
    int pause_after; /* failures in a row; 0: never pauses */
    int64_t pause_ns;
    const char *model; /* for recordings; may be NULL */
};

/* 1 s to 60 s between requests; a pause of 30 s after 10 failures. */
extern const struct llm_rules llm_default_rules;

/* Takes the provider. */
struct llm *llm_new(struct loop *l, struct provider *p,
                    const struct llm_rules *rules, const struct price *price,
                    struct budget *budget);

#endif
