/* http_provider.h: common to the providers that use HTTP: an endpoint that takes and
 * returns JSON, its address and its key, the life of a request, and what its end
 * means. They differ in how a request is written and how an answer is read, complete
 * or as a stream of events.
 *
 * The key is read from the environment when the endpoint is opened and kept in memory
 * only. Texts made here contain neither the key nor a URL, even if a server repeats
 * them. */
#ifndef LLM_HTTP_PROVIDER_H
#define LLM_HTTP_PROVIDER_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "io/http.h"
#include "llm/llm.h"
#include "llm/provider.h"

/* Bytes of an answer. The events of a stream may be many times larger than their
 * contents. */
#define HTTP_REPLY  ((size_t)16 << 20)
#define HTTP_STREAM ((size_t)256 << 20)

/* What has arrived of an answer so far. */
struct answer {
    struct buf text, thought, model;
    enum llm_finish finish;
    struct llm_usage usage; /* estimated until the provider says */
    bool begun;             /* there is an answer, even if it is empty */
    bool complete;          /* nothing more is needed */
    size_t messages;        /* of the request */
    const char *asked;      /* the model that it names; NULL: none */
};

struct endpoint_kind {
    const char *base_url; /* the default, which needs a key */
    const char *path;     /* appended to the base URL */
    const char
        *key_name; /* the variable to read when MONKEYS_API_KEY is not set */
    const char *key_header;             /* "Authorization: Bearer " */
    const char *header;                 /* an extra header, or NULL */
    const char *organisation, *project; /* their headers, or NULL */
};

struct http_provider;
struct http_api {
    struct endpoint_kind endpoint;
    const char *const
        *reserved;      /* fields that users may not set; NULL-terminated. NULL:
                      they may set none at all */
    size_t reply_limit; /* bytes of an answer; 0: HTTP_REPLY */
    /* Refuses settings that the API does not support; may be NULL. */
    int (*check)(const struct llm_opts *o, struct err *e);
    /* The body of a request, a new reference. The user's extra fields are
     * added afterwards. */
    json_t *(*question)(const struct http_provider *p,
                        const struct llm_request *r);
    /* A complete answer, or one event of a stream. Fails when it is not one, or
     * reports an error. `hear` NULL: it does not stream. */
    int (*read)(struct answer *a, const json_t *whole, struct err *e);
    int (*hear)(struct answer *a, struct str event, struct err *e);
};

extern const struct http_api api_openai, api_anthropic, api_embeddings;

struct endpoint {
    struct http *http;
    char *url, *key;  /* key: NULL when there is none */
    char *headers[6]; /* ends with NULL */
    int64_t timeout_ns;
    size_t reply_limit;
};

struct http_provider {
    struct provider base; /* first */
    const struct http_api *api;
    struct endpoint endpoint;
    char *model, *effort; /* effort: NULL when there is none */
    double temperature;
    int64_t max_tokens;
    bool stream;
    json_t *extra; /* an object, or NULL */
};

struct provider *http_provider_open(const struct provider_type *type,
                                    struct loop *l, const struct llm_opts *o,
                                    struct err *e);
void http_provider_close(struct provider *base); /* not from a callback */
struct send *http_provider_send(struct provider *base,
                                const struct llm_request *r, send_fn *fn,
                                void *arg, struct err *e);
void http_provider_cancel(struct send *s);
#define HTTP_PROVIDER                                                         \
    .priced = true, .open = http_provider_open, .close = http_provider_close, \
    .send = http_provider_send, .cancel = http_provider_cancel

/* What a status says of a request. */
enum send_outcome http_provider_outcome(int status);
/* The token limit of an answer; 0: none. */
int64_t http_provider_limit(const struct http_provider *p,
                            const struct llm_request *r);

/* ---- reading answers ---- */

/* Of a request with so many messages, and a text of at most `limit` bytes. */
void answer_init(struct answer *a, size_t messages, size_t limit);
void answer_release(struct answer *a);
/* Its texts, finish and usage; borrowed. */
void answer_tell(const struct answer *a, struct send_result *out);
/* Adds a JSON string and ignores other values. -1 past the limit. */
int answer_add(struct buf *b, const json_t *text, struct err *e);
/* A number of tokens; 0 when it is missing. */
int64_t answer_count(const json_t *object, const char *name);
/* True, with its text in `e`, when the answer is an error. */
bool answer_is_complaint(const json_t *answer, struct err *e);

#endif
