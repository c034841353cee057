/* endpoint.h: an HTTP endpoint that takes and returns JSON: its address, its key, and
 * what the end of a request means.
 *
 * The key is read from the environment when the endpoint is opened and kept in memory
 * only. Texts made here contain neither the key nor a URL, even if a server repeats
 * them. */
#ifndef LLM_ENDPOINT_H
#define LLM_ENDPOINT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "io/http.h"
#include "llm/llm.h"
#include "llm/provider.h"

/* Bytes of an answer. The events of a stream may be many times larger than their
 * contents. */
#define ENDPOINT_REPLY  ((size_t)16 << 20)
#define ENDPOINT_STREAM ((size_t)256 << 20)

struct endpoint_kind {
    const char *base_url; /* the default, which needs a key */
    const char *path;     /* appended to the base URL */
    const char
        *key_name; /* the variable to read when MONKEYS_API_KEY is not set */
    const char *key_header;             /* "Authorization: Bearer " */
    const char *header;                 /* an extra header, or NULL */
    const char *organisation, *project; /* their headers, or NULL */
};

struct endpoint {
    struct http *http;
    char *url, *key;  /* key: NULL when there is none */
    char *headers[6]; /* ends with NULL */
    int64_t timeout_ns;
    size_t reply_limit; /* ENDPOINT_REPLY, unless changed */
};

int endpoint_open(struct endpoint *p, const struct endpoint_kind *k,
                  struct loop *l, const struct llm_opts *o, struct err *e);
/* Also after a failed opening. Cancels what is in flight. */
void endpoint_release(struct endpoint *p);

/* Sends `body`, which is borrowed until the call ends. `on_chunk` as in http.h. */
struct http_call *endpoint_post(struct endpoint *p, struct str body,
                                http_chunk_fn *on_chunk, http_done_fn *on_done,
                                void *arg, struct err *e);

/* Fills outcome, status, retry_after_ns and error of `out`; `text` holds the error.
 * SEND_ANSWERED means that the body is complete; its contents are not checked. */
void endpoint_judge(const struct endpoint *p, struct http_call *c,
                    const struct http_reply *r, struct send_result *out,
                    struct buf *text);
/* For a complete answer that cannot be used: it may have been billed. */
void endpoint_lost(const struct endpoint *p, const char *why,
                   struct send_result *out, struct buf *text);

/* True when what came as an answer is a web page: `out` is a refusal then. */
bool endpoint_is_page(struct http_call *c, const struct buf *body,
                      struct send_result *out, struct buf *text);

/* The error in an answer, as "message (code)"; false when there is none. */
bool endpoint_complaint(const json_t *answer, struct buf *out);

#endif
