/* jobs.h: the worker without a connection: frames from a file, answers appended
 * to another. If it is started again, it continues where it stopped. */
#ifndef WORKER_JOBS_H
#define WORKER_JOBS_H

#include "worker/host.h"

/* Works through `jobs`; ids that have an answer in `out` are skipped. Returns
 * the exit status: 0, 4 when some job ended in `infra`, 130 when it was stopped. */
int jobs_run(struct loop *l, const struct host_opts *o, const char *jobs,
             const char *out, struct err *e);

#endif
