/* verify_port.h: the real verifier as the search sees it: static rules first,
 * then the worker; hints behind the feedback. */
#ifndef SEARCH_VERIFY_PORT_H
#define SEARCH_VERIFY_PORT_H

#include "base/home.h"
#include "pack/pack.h"
#include "search/port.h"
#include "task/collection.h"
#include "verify/job.h"
#include "verify/verifier.h"

struct verify_port;

/* Everything is borrowed. Seeds of inputs are made from `secret`, so that a run
 * that goes on asks what it asked before; NULL: the verifier's own. */
struct verify_port_opts {
    const struct verifier_opts *verifier;
    const struct home *home;
    const struct pack *pack;
    const struct job_opts *job;
    const char *secret;
};

struct verify_port *verify_port_open(struct loop *l,
                                     const struct verify_port_opts *o,
                                     struct err *e);
void verify_port_close(struct verify_port *p);
struct search_port *verify_port_search(struct verify_port *p);

/* The gate: why[i] is NULL for a task that passes, else the reason (the caller
 * frees it); a task that the machinery fails on does not stop the others. Calls `step` after each. Returns 1 when answers are missing (a
 * folder of jobs), 0 when all are there. */
int verify_port_gate(struct verify_port *p, const struct collection *tasks,
                     char **why, void (*step)(void *arg), void *arg,
                     struct err *e);
/* How to get the answers that are missing, or NULL. The caller frees it. */
char *verify_port_hint(struct verify_port *p);

#endif
