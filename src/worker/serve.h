/* serve.h: the worker on a connection: jobs come, answers go. */
#ifndef WORKER_SERVE_H
#define WORKER_SERVE_H

#include "worker/host.h"

enum serve_end {
    SERVE_BYE,     /* the owner needs no more, or a signal came */
    SERVE_UNFIT,   /* this host cannot work; the owner knows why */
    SERVE_REFUSED, /* the other end is not our owner */
    SERVE_LOST     /* the connection ended, or its owner is silent */
};

/* Whether the descriptor is a socket, as one that an owner gave is. */
bool serve_is_owned(int fd);
/* Tells the owner at the other end that there will be no worker. */
int serve_refuse(int fd, const char *why);

/* Serves the owner that started us, until `bye` or the end of its socket. On
 * failure the socket is still open. */
int serve_run(struct loop *l, const struct host_opts *o, int fd, struct err *e);

/* Where to connect, as whom, and how long to try when nobody listens there. */
struct serve_opts {
    const char *address, *secret;
    int64_t retry_s;
    uint64_t memory;     /* of the device; 0: not known */
    const bool *stopped; /* a signal said so */
};
/* Serves an owner elsewhere. When the connection is lost all jobs are dropped, and
 * we connect again. Returns the exit status. */
int serve_connect(struct loop *l, const struct host_opts *o,
                  const struct serve_opts *s, struct err *e);

/* ---- without a connection: frames from a file, answers appended to another. If it
 * is started again, it continues where it stopped ---- */

/* Works through `jobs`; ids that have an answer in `out` are skipped. Returns
 * the exit status: 0, 4 when some job ended in `infra`, 130 when it was stopped. */
int jobs_run(struct loop *l, const struct host_opts *o, const char *jobs,
             const char *out, struct err *e);

#endif
