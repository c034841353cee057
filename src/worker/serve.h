/* serve.h: the worker on a socket: jobs come, answers go. */
#ifndef WORKER_SERVE_H
#define WORKER_SERVE_H

#include "worker/host.h"

/* Serves the connection until `bye` or its end. Returns the exit status. */
int serve_run(struct loop *l, const struct host_opts *o, int fd, struct err *e);

#endif
