/* http.h: HTTP requests on a loop, any number in flight, connections used
 * again, HTTP/2 where a TLS server offers it. Proxies are those of the
 * environment, as libcurl reads them. Redirects are not followed, and nothing
 * is sent twice: who calls decides what a status is worth.
 *
 * How a request ends is a reply, never an error: an error is a request that
 * makes no sense. No text made here holds a URL or a header's value, since keys
 * travel in both.
 *
 * Callbacks come from the loop with nothing of ours half done: any function may
 * be called from them, except http_free(). */
#ifndef IO_HTTP_H
#define IO_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http;
struct http_call; /* a request under way */

struct http_opts {
    /* Connections to one host; 0: as many as there are requests. More requests
     * wait, and their deadline runs. HTTP/2 needs a bound (8 to 20 is good), as
     * libcurl opens a connection for nearly every request without one. */
    int max_host_connections;
    /* The bound once a TLS server has turned out to speak HTTP/1 only, where a
     * connection carries one request; 0: no other. */
    int max_http1_connections;
    int max_streams;            /* requests on one HTTP/2 connection; 0: 100 */
    int64_t connect_timeout_ns; /* 0: 30 s */
    const char *ca_file;        /* PEM of who to trust; NULL: the system's */
    bool insecure;              /* trust any server's certificate */
};

enum http_outcome {
    HTTP_ANSWERED,  /* a whole answer, whatever its status */
    HTTP_TIMED_OUT, /* not whole by the deadline, or no connection in time */
    HTTP_TOO_LARGE, /* the body passed its limit */
    HTTP_STOPPED,   /* on_chunk said so */
    HTTP_UNTRUSTED, /* the server could not prove who it is */
    HTTP_BROKEN,    /* no connection, or it was lost, or it was not HTTP */
};

struct http_reply {
    enum http_outcome outcome;
    int status;        /* 0: none has arrived */
    bool sent;         /* the server may have seen some of the request */
    struct buf body;   /* as far as it came; may be taken with buf_take() */
    const char *error; /* what went wrong, "" when answered */
    int64_t wall_ns;
};

/* A piece of the body of an answer with a status of 200 to 299, in order;
 * other bodies are collected, since they say what was wrong. Returns 0 to go
 * on. */
typedef int http_chunk_fn(struct http_call *c, const char *data, size_t n,
                          void *arg);
/* Called once; reply and call are gone when it returns. */
typedef void http_done_fn(struct http_call *c, struct http_reply *r, void *arg);

struct http_request {
    const char *method;         /* NULL: POST with a body, GET without */
    const char *url;            /* http or https only */
    const char *const *headers; /* "Name: value", ends with NULL; or NULL */
    const void *body;           /* borrowed until the call is gone */
    size_t body_len;
    int64_t timeout_ns; /* from http_send() to the last byte; 0: for ever */
    size_t body_limit;  /* bytes of the answer, streamed ones included */
    http_chunk_fn *on_chunk; /* NULL: the body is collected */
    http_done_fn *on_done;
    void *arg;
};

/* An error unless it is a URL of http or https; *tls: of https. */
int http_check_url(const char *url, bool *tls, struct err *e);

/* `o` is not needed afterwards. The loop must outlive the result. */
struct http *http_new(struct loop *l, const struct http_opts *o, struct err *e);
/* Cancels what is in flight. */
void http_free(struct http *h);

/* Returns what http_cancel() takes, valid until on_done returns. Of `r` only
 * the body is needed afterwards. */
struct http_call *http_send(struct http *h, const struct http_request *r,
                            struct err *e);
/* Drops the call; on_done is not called any more. From its own on_done it does
 * nothing. */
void http_cancel(struct http_call *c);

/* The first header of this name in the answer, or NULL. For callbacks. */
const char *http_header(struct http_call *c, const char *name);
/* How long the answer asks to wait before the next request: Retry-After in
 * seconds or as a date, or retry-after-ms; at most a day. 0: it does not. */
int64_t http_retry_after_ns(struct http_call *c);

#endif
