/* endpoint.h: an address that takes JSON and answers JSON: where it is, the key
 * that opens it, and what the way a request ended is worth.
 *
 * The key is read from the environment when the endpoint is opened and is kept
 * in memory only. Texts made here hold neither it nor a URL, also when a server
 * sends them back to us. */
#ifndef LLM_ENDPOINT_H
#define LLM_ENDPOINT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "io/http.h"
#include "llm/options.h"
#include "llm/provider.h"

/* Bytes of an answer. A stream's packing may be many times what it holds. */
#define ENDPOINT_REPLY  ((size_t)16 << 20)
#define ENDPOINT_STREAM ((size_t)256 << 20)

struct endpoint_kind {
    const char *base_url;   /* where the options name none: a key is needed */
    const char *path;       /* behind the base URL */
    const char *key_name;   /* the variable, where MONKEYS_API_KEY is not set */
    const char *key_header; /* "Authorization: Bearer " */
    const char *header;     /* one more, or NULL */
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
/* Also of one whose opening failed. What is in flight is dropped. */
void endpoint_release(struct endpoint *p);

/* Sends `body` once; it is borrowed until the call is gone. `on_chunk` as in
 * http.h. */
struct http_call *endpoint_post(struct endpoint *p, struct str body,
                                http_chunk_fn *on_chunk, http_done_fn *on_done,
                                void *arg, struct err *e);

/* Fills outcome, status, retry_after_ns and error of `out`; `text` holds the
 * error. SEND_ANSWERED says that the body is whole, not what is in it. */
void endpoint_judge(const struct endpoint *p, struct http_call *c,
                    const struct http_reply *r, struct send_result *out,
                    struct buf *text);
/* The same for an answer that came and is none: it may have been billed. */
void endpoint_lost(const struct endpoint *p, const char *why,
                   struct send_result *out, struct buf *text);

/* True when what came as an answer is a web page: `out` is a refusal then. */
bool endpoint_is_page(struct http_call *c, const struct buf *body,
                      struct send_result *out, struct buf *text);

/* What an answer says is wrong, "message (code)"; false: it does not. */
bool endpoint_complaint(const json_t *answer, struct buf *out);

#endif
