/* httpd.h: an HTTP/1.1 server on a loop (libmicrohttpd). Whoever listens gets whole
 * requests, and answers each now or later.
 *
 * Everything is bounded: connections, the size of a request, the time in which it
 * arrives. A new connection replaces the one that has been idle longest, so idle
 * ones never lock anyone out; if all are busy, it gets 503. Requests for a name that
 * is not ours get 421, those from another site's page 403. */
#ifndef IO_HTTPD_H
#define IO_HTTPD_H

#include "base/buf.h"
#include "base/err.h"
#include "io/httpd_listen.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTPD_HEADERS = 4 };

struct httpd;
struct httpd_stream; /* the body of an answer that is not over yet */

/* What a stream has to say is appended to `out`; nothing: it waits for
 * httpd_wake(). False: that was all. */
typedef bool httpd_fill_fn(struct buf *out, void *arg);
typedef void httpd_gone_fn(void *arg);

/* A request, until it is answered. */
struct httpd_call {
    const char *method;
    struct httpd_target target;
    struct str body;
    /* Whoever answers later sets them: the client has hung up, and the call will be
     * gone when this returns. */
    httpd_gone_fn *gone;
    void *arg;
};

struct httpd_answer {
    unsigned status;
    const char *type;
    const char *policy; /* Content-Security-Policy; NULL: it is no page */
    struct {
        const char *name, *value;
    } header[HTTPD_HEADERS]; /* further ones; the rest NULL */
    /* The body is one of these. The first lasts as long as the server; the second
     * goes to `release` after use; the last is taken. */
    struct str fixed;
    struct str shared;
    httpd_gone_fn *release;
    void *owner; /* what `release` gets */
    struct buf body;
};

typedef void httpd_call_fn(struct httpd_call *c, void *arg);

struct httpd_opts {
    const struct httpd_listen *where; /* borrowed */
    const char *allow;                /* the methods: "GET, HEAD" */
    size_t connections;               /* at most */
    size_t body_limit;                /* 0: a request has no body */
    httpd_call_fn *on_call;
    void *arg;
};

struct httpd *httpd_new(struct loop *l, const struct httpd_opts *o,
                        struct err *e);
/* No new connection is accepted. */
void httpd_deafen(struct httpd *h);
/* Calls without an answer are dropped, and `gone` is called for each. */
void httpd_free(struct httpd *h);

/* The first header of this name, or NULL. */
const char *httpd_header(const struct httpd_call *c, const char *name);
/* Ends the call. */
void httpd_answer(struct httpd_call *c, struct httpd_answer *a);
/* Likewise, with a body that is said piece by piece. `done` is called when it is over,
 * also because the client has hung up. */
struct httpd_stream *httpd_answer_stream(struct httpd_call *c,
                                         struct httpd_answer *a,
                                         httpd_fill_fn *fill,
                                         httpd_gone_fn *done, void *arg);
/* A stream may have something to say. */
void httpd_wake(struct httpd_stream *t);

#endif
