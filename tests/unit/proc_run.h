/* proc_run.h: starts a child, waits for its end, and gives its result, which the
 * caller releases. */
#ifndef TESTS_PROC_RUN_H
#define TESTS_PROC_RUN_H

#include "io/proc.h"

int proc_run(const struct proc_opts *o, struct proc_result *r, struct err *e);

#endif
