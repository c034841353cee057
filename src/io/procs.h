/* procs.h: several programs, some of them at once. */
#ifndef IO_PROCS_H
#define IO_PROCS_H

#include "io/proc.h"

struct procs_item {
    struct proc_opts opts;
    struct proc_result result; /* the caller releases it */
    struct err failed;         /* kind ERR_NONE: it was started */
};

/* Runs all of them, at most `at_once` at a time, and tells each end. A program
 * that cannot be started is told in its item, not as an error. */
int procs_run(struct procs_item *item, size_t n, size_t at_once,
              void (*ended)(size_t done, void *arg), void *arg, struct err *e);

#endif
