/* web_server.h: answers browsers over HTTP, on a loop: GET and HEAD, and a stream
 * of events that says when a run has news.
 *
 * Pages that are open hear what is new. Events do not queue up: a page gets the current
 * state when it can take it. */
#ifndef WEB_WEB_SERVER_H
#define WEB_WEB_SERVER_H

#include "base/err.h"
#include "io/httpd_listen.h"
#include "io/loop.h"
#include "run/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_CONNECTIONS = 256, WEB_STREAMS = 64 };

/* ---- the runs that a server shows, kept in memory and up to date. A check that finds no
 * change takes microseconds; otherwise only new rows are read. Runs that have ended are
 * checked less often, but a `resume` is noticed, as is a folder that was replaced ---- */

struct web_live_run {
    char *dir;
    struct run_view view; /* while `open` */
    bool open;
    struct err why;  /* it is not */
    int64_t version; /* of its view; never falls */
    int64_t next_ns; /* when to look again */
};

struct web_live {
    struct web_live_run *run;
    size_t runs;
    int64_t version; /* grows with each of theirs */
};

/* Reads all of the runs. ERR_INPUT when one is no run. */
int web_live_open(const char *const *dirs, size_t n, struct web_live *l,
                  struct err *e);
void web_live_close(struct web_live *l);

/* ---- the server ---- */

struct web_server;

/* All are borrowed until the server is freed. */
struct web_server *web_server_new(struct loop *l,
                                  const struct httpd_listen *where,
                                  struct web_live *live, struct err *e);
/* Looks at the runs once more, tells the streams that this is the end, and gives
 * them a second at most to ask for it and leave. */
void web_server_end(struct web_server *s);
void web_server_free(struct web_server *s);

/* A server beside a run, in a thread of its own with a store of its own that only
 * reads. The two share no state, so that the page can neither stop nor delay the run. */
struct web_beside;

/* Shows the run in `dir`; takes over the socket. */
struct web_beside *web_beside_start(const char *dir, struct httpd_listen *where,
                                    struct err *e);
/* Shows how the run ended to whoever looks, then ends. */
void web_beside_end(struct web_beside *b);

#endif
