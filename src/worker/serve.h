/* serve.h: the worker on a socket: jobs come, answers go. */
#ifndef WORKER_SERVE_H
#define WORKER_SERVE_H

#include "worker/host.h"

/* Whether the descriptor is a socket, as one that an owner gave is. */
bool serve_is_owned(int fd);
/* Serves the connection until `bye` or its end. Returns the exit status. */
/* On failure the socket is still open. */
int serve_run(struct loop *l, const struct host_opts *o, int fd, struct err *e);
/* Tells the owner at the other end that there will be no worker. */
int serve_refuse(int fd, const char *why);

#endif
