/* running.h: what `run` and `resume` share: the options of a run, and a run put
 * together from them. A run is a folder: run.ini (every option, resolved),
 * run.db (everything that happened), lock. */
#ifndef CMD_RUNNING_H
#define CMD_RUNNING_H

#include "llm/modeling.h"
#include "verify/verifying.h"

struct run_values {
    struct verifying_values v; /* first */
    struct modeling_values m;
    struct opt_list tasks, archive, set;
    const char *dsl, *method, *retrieval, *order, *reviewer, *threshold;
    const char *phases, *out, *embeddings, *embedding_model;
    const char *spool_before; /* resume: where the run has asked so far */
    int64_t attempts, examples, pack_seeds, batch, slots, seed;
    int64_t islands, history;
    bool no_stop, no_card, no_wait, diff, dry_run, force;
};

/* The defaults, and the table that `run`, run.ini and `resume` read. */
extern const struct run_values run_defaults;
extern const struct opt run_table[];

/* Runs in the folder v->out: a new one, or (`resume`) one that holds a run.
 * Returns an exit status, or -1. */
int running(struct run_values *v, bool resume, struct err *e);

#endif
