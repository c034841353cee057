/* gate.h: checks which tasks of a collection can be judged, before a run
 * spends a token on them. */
#ifndef VERIFY_GATE_H
#define VERIFY_GATE_H

#include "llm/ask_all.h"
#include "source/collection.h"
#include "verify/verifier.h"

/* How to check them, and what to call after each task. ask_all_stop(&ask) stops
 * it. */
struct gate_opts {
    const struct job_opts *job;
    void (*step)(void *arg);
    void *arg;
    struct ask_all ask; /* all zero at first */
};

/* Sets why[i] to the reason that task i cannot be judged, or could not be
 * checked; the caller frees it. It stays NULL for a task that can be judged.
 * Returns 0 when all are answered, 1 when answers are missing, -1 when none
 * could be checked or the worker is dead. */
int gate_tasks(struct verifier *d, const struct collection *tasks,
               struct gate_opts *o, char **why, struct err *e);

#endif
