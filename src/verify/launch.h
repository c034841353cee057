/* launch.h: who starts the workers that connect to us: this program ("local"),
 * a Slurm cluster ("slurm"), or somebody by hand ("none"). A launcher only
 * starts processes. Only its connection tells whether a worker exists, never
 * what a scheduler reports. */
#ifndef VERIFY_LAUNCH_H
#define VERIFY_LAUNCH_H

#include "io/loop.h"
#include "verify/verifier.h"

/* The command line of a worker, NULL at its end. The array borrows everything. */
#define LAUNCH_WORDS 96
struct launch_worker {
    const struct verifier_opts *opts;
    const char *address, *key; /* NULL: it is given a socket */
    const char *device, *children;
};
int launch_argv(const struct launch_worker *x, const char *argv[LAUNCH_WORDS],
                struct err *e);

struct launch; /* one launcher at work */

/* Starts `o->workers` workers that connect to `address` and know the secret in
 * the file `key`. All borrowed. */
struct launch *launch_start(struct loop *l, const struct verifier_opts *o,
                            const char *address, const char *key,
                            struct err *e);
/* From time to time: `connected` workers are there, and work waits. Starts more
 * if those that were started are gone. */
void launch_tick(struct launch *x, size_t connected);
/* `x` may be NULL. Takes back what has not begun, and ends what was started here. */
void launch_stop(struct launch *x);

#endif
