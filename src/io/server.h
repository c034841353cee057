/* server.h: one of our programs, started with a socket that carries frames in both
 * directions (io/frame.h). */
#ifndef IO_SERVER_H
#define IO_SERVER_H

#include "base/err.h"
#include "io/frame.h"
#include "io/loop.h"

#include <stdbool.h>
#include <sys/types.h>

struct server;
/* Called for each frame from it, and with NULL when it has ended. */
typedef void server_fn(struct server *s, const struct frame *f, void *arg);

struct server {
    struct loop *loop;
    struct peer peer;
    int pidfd; /* for signals: a pid may be reused */
    pid_t pid;
    uint64_t fd_id, child_id;
    unsigned interest;
    bool deaf; /* it no longer accepts frames */
    bool ended;
    char log[600]; /* the file its output goes to; "": ours */
    server_fn *fn;
    void *arg;
};

/* Starts argv with the socket as its descriptor 3. `s` holds fn and arg; the rest
 * is set here. stdout and stderr are appended to the file `log`, or go to our
 * stderr when it is NULL. API keys do not reach its environment. */
int server_start(struct server *s, struct loop *l, const char *const *argv,
                 const char *log, struct err *e);
/* Kills it, without calling the callback. */
void server_stop(struct server *s);
/* Closes the connection, gives it `wait_ms` to clean up and exit, then kills it.
 * Blocks until it has ended, and reaps it. */
void server_end(struct server *s, int wait_ms);
void server_send(struct server *s, const struct frame *f, const int *fds,
                 size_t fd_count);
/* Short form: a frame with text, without descriptors. */
void server_say(struct server *s, const char *type, const char *id,
                const char *text);

#endif
