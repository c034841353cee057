/* http.h: HTTP requests on a loop: any number at once, connections reused, HTTP/2
 * where a TLS server offers it. Proxies are taken from the environment, as
 * libcurl does. Redirects are not followed and nothing is retried: the caller
 * decides what to do about a status.
 *
 * How a request ends is a reply; an error is a request that cannot be sent at all.
 * No text made here contains a URL or the value of a header, since keys travel in
 * both.
 *
 * Callbacks run from the loop and may call any function except http_free(). */
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
    /* Connections per host; 0: no limit. Further requests wait, and their
     * deadlines run. HTTP/2 needs a limit (8 to 20 is good): without one, libcurl
     * opens a connection for nearly every request. */
    int max_host_connections;
    /* The limit for a TLS server that only speaks HTTP/1, where a connection
     * carries one request; 0: the same. */
    int max_http1_connections;
    int max_streams;            /* requests on one HTTP/2 connection; 0: 100 */
    int64_t connect_timeout_ns; /* 0: 30 s */
    const char *ca_file; /* PEM file of trusted CAs; NULL: the system's */
    bool insecure;       /* trust any server's certificate */
};

enum http_outcome {
    HTTP_ANSWERED,  /* a complete answer, with any status */
    HTTP_TIMED_OUT, /* incomplete at the deadline, or no connection in time */
    HTTP_TOO_LARGE, /* the body exceeded its limit */
    HTTP_STOPPED,   /* on_chunk said so */
    HTTP_UNTRUSTED, /* the server's certificate was not accepted */
    HTTP_BROKEN,    /* no connection, a lost one, or not HTTP */
};

struct http_reply {
    enum http_outcome outcome;
    int status;        /* 0: none arrived */
    bool sent;         /* the server may have seen some of the request */
    struct buf body;   /* what arrived; may be taken with buf_take() */
    const char *error; /* what went wrong, "" when answered */
    int64_t wall_ns;
};

/* Called for each part of the body of an answer with status 200 to 299; other
 * bodies are collected, since they say what was wrong. Returns 0 to continue. */
typedef int http_chunk_fn(struct http_call *c, const char *data, size_t n,
                          void *arg);
/* Called once; reply and call are freed when it returns. */
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

/* Fails unless it is an http or https URL; *tls: https. */
int http_check_url(const char *url, bool *tls, struct err *e);

/* `o` is not needed afterwards. The loop must outlive the result. */
struct http *http_new(struct loop *l, const struct http_opts *o, struct err *e);
/* Cancels what is in flight. */
void http_free(struct http *h);

/* The result is valid until on_done returns. Of `r` only the body is needed
 * afterwards. */
struct http_call *http_send(struct http *h, const struct http_request *r,
                            struct err *e);
/* Cancels the call without calling on_done. Does nothing from on_done itself. */
void http_cancel(struct http_call *c);

/* The first header of this name in the answer, or NULL. For callbacks. */
const char *http_header(struct http_call *c, const char *name);
/* How long the server asks to wait before the next request (Retry-After in seconds
 * or as a date, or retry-after-ms), at most a day; 0: it does not. */
int64_t http_retry_after_ns(struct http_call *c);

#endif
