/* procs.h: runs several programs, a number of them at a time. */
#ifndef IO_PROCS_H
#define IO_PROCS_H

#include "io/proc.h"

struct procs_item {
    struct proc_opts opts;
    struct proc_result result; /* the caller releases it */
    struct err failed;         /* kind ERR_NONE: it was started */
};

/* Runs all of them, at most `at_once` at a time, and calls `ended` after each. That
 * a program cannot be started is recorded in its item, and is not an error. */
int procs_run(struct procs_item *item, size_t n, size_t at_once,
              void (*ended)(size_t done, void *arg), void *arg, struct err *e);

#endif
