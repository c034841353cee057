/* apart.h: runs a call that needs a candidate's libraries in a process of its
 * own, which ends with the call.
 *
 * The runner itself never loads such a library. Each call starts as a copy of
 * it that has computed nothing yet: what a library writes anywhere but to the
 * region, to its own memory, to libc's, to the stack, ends with the process.
 * The runner stays as trusted as the judge, so its clock and its answers count,
 * and nothing of the call still runs when it answers. */
#ifndef RUNNER_APART_H
#define RUNNER_APART_H

#include "runner/answer.h"

#include <stdint.h>

struct apart {
    /* Loads the libraries; none of their code runs. */
    int (*load)(void *arg, struct answer *a);
    void (*run)(void *arg);
    void *arg;
};

/* Fills in `host_ns`: from just before run() to when nothing of it runs any
 * more. If the process ends instead, the answer is CALL_ENDED. */
int apart_run(const struct apart *what, struct answer *a);

#endif
