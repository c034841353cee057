/* http_provider.h: what the providers that speak HTTP have in common: one
 * request and its life. They differ in the words of an API: how a question is
 * written, and how an answer is read, whole or as a stream of events. */
#ifndef LLM_HTTP_PROVIDER_H
#define LLM_HTTP_PROVIDER_H

#include "base/buf.h"
#include "base/json.h"
#include "llm/endpoint.h"
#include "llm/options.h"
#include "llm/provider.h"

/* What has arrived of an answer. */
struct answer {
    struct buf text, thought, model;
    enum llm_finish finish;
    struct llm_usage usage; /* estimated until the provider says */
    bool begun;             /* there is an answer, were it an empty one */
    bool complete;          /* nothing more is needed */
};

struct http_provider;
struct http_api {
    struct endpoint_kind endpoint;
    const char *const *reserved; /* fields that are not the user's; NULL ends */
    /* Settings that make no sense; may be NULL. */
    int (*check)(const struct llm_opts *o, struct err *e);
    /* The body of a request, a new reference. The user's extra fields are
     * added afterwards. */
    json_t *(*question)(const struct http_provider *p,
                        const struct llm_request *r);
    /* A whole answer, or one event of a stream; an error is one that is none,
     * or says what went wrong. */
    int (*read)(struct answer *a, const json_t *whole, struct err *e);
    int (*hear)(struct answer *a, struct str event, struct err *e);
};

extern const struct http_api api_openai, api_anthropic;

struct http_provider {
    struct provider base; /* first */
    const struct http_api *api;
    struct endpoint endpoint;
    char *model, *effort; /* effort: NULL when there is none */
    double temperature;
    int64_t max_tokens;
    bool stream;
    json_t *extra; /* an object, or NULL */
    struct send *sends;
};

struct provider *http_provider_open(const struct provider_type *type,
                                    const struct http_api *api, struct loop *l,
                                    const struct llm_opts *o, struct err *e);
void http_provider_close(struct provider *base); /* not from a callback */
struct send *http_provider_send(struct provider *base,
                                const struct llm_request *r, send_fn *fn,
                                void *arg, struct err *e);
void http_provider_cancel(struct send *s);

/* How long an answer may be; 0: not said. */
int64_t http_provider_limit(const struct http_provider *p,
                            const struct llm_request *r);

/* ---- for those who read answers ---- */

void answer_init(struct answer *a);
void answer_release(struct answer *a);
/* Adds a JSON string; anything else is passed over. -1 past the limit. */
int answer_add(struct buf *b, const json_t *text, struct err *e);
/* A count of tokens, 0 when it is none. */
int64_t answer_count(const json_t *object, const char *name);
/* True, with what it says in `e`, when the answer is a complaint. */
bool answer_is_complaint(const json_t *answer, struct err *e);

#endif
