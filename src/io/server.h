/* server.h: a program of ours with a socket to it, over which frames go both
 * ways (io/frame.h). */
#ifndef IO_SERVER_H
#define IO_SERVER_H

#include "base/err.h"
#include "io/frame.h"
#include "io/loop.h"

#include <stdbool.h>
#include <sys/types.h>

struct server;
/* A frame from it, or (f NULL) its end. */
typedef void server_fn(struct server *s, const struct frame *f, void *arg);

struct server {
    struct loop *loop;
    struct peer peer;
    int pidfd; /* signals go here: a pid may be another's by then */
    pid_t pid;
    uint64_t fd_id, child_id;
    unsigned interest;
    bool deaf; /* nothing can be sent to it any more */
    bool ended;
    char log[600]; /* the file its output goes to; "": ours */
    server_fn *fn;
    void *arg;
};

/* Starts argv (`s` holds fn and arg, the rest is set here) with its socket as descriptor 3; stdout and stderr go to the end
 * of the file `log`, or both to our stderr when that is NULL. API keys do not
 * reach its environment. */
int server_start(struct server *s, struct loop *l, const char *const *argv,
                 const char *log, struct err *e);
/* Kills it; the callback is not called any more. */
void server_stop(struct server *s);
/* Ends the connection, gives it `wait_ms` to put things in order and leave, and
 * kills it only then. Blocks meanwhile. */
void server_end(struct server *s, int wait_ms);
void server_send(struct server *s, const struct frame *f, const int *fds,
                 size_t fd_count);
/* Short form: a frame with text, without descriptors. */
void server_say(struct server *s, const char *type, const char *id,
                const char *text);

#endif
