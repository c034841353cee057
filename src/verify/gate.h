/* gate.h: which tasks of a collection may cost a token. */
#ifndef VERIFY_GATE_H
#define VERIFY_GATE_H

#include "task/collection.h"
#include "verify/door.h"

/* Fills why[i] with the reason for each task that cannot be judged (the caller
 * frees it), NULL for one that can; a task that could not be checked does not
 * stop the others. Calls `step` after each. Returns 0 when all are answered, 1
 * when answers are missing, -1 when none could be checked. */
int gate_tasks(struct door *d, const struct collection *tasks,
               const struct job_opts *o, char **why, void (*step)(void *arg),
               void *arg, struct err *e);

#endif
