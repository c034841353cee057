/* backend.h: workers that we talk to, for the verifier (verify_workers.c).
 *
 * The verifier has the one list of what was asked. Each job comes here once, and is
 * settled once: before workers_put() returns, or later from the loop. */
#ifndef VERIFY_BACKEND_H
#define VERIFY_BACKEND_H

#include "verify/verifier.h"

/* A job without an answer. */
struct asked {
    struct verifier *v;
    const struct pack *pack;    /* whose hints apply; NULL: about a task */
    struct verifier_answer *to; /* NULL: nobody waits for it any more */
    char *task;                 /* its id */
    char *text;                 /* the job; NULL: a folder has it */
    int64_t deadline_ms;
    struct asked *prev, *next; /* in the order of asking */
};
/* The judge's record (borrowed), or NULL and why there is none. Frees `a`. Whoever
 * waits for it runs at once, and may ask for more. */
void asked_settle(struct asked *a, const json_t *answer, const char *why);
/* The oldest of all; NULL: everything is answered. */
struct asked *asked_first(const struct verifier *v);

struct workers;
/* The one that is started here (`address` NULL), or those that connect to `address`
 * and know a secret. */
struct workers *workers_open(struct verifier *v, struct loop *l,
                             const struct verifier_opts *o, const char *address,
                             struct err *e);
/* Ends those that were started here, and tells the others to go. Forgets what was
 * asked. `w` may be NULL. */
void workers_close(struct workers *w);
/* -1: there will be no answer, and `a` is the caller's again. */
int workers_put(struct workers *w, struct asked *a, json_t *what,
                struct err *e);
/* There will never be an answer again. */
bool workers_are_dead(const struct workers *w);
/* No worker is connected now; one may come. */
bool workers_are_away(const struct workers *w);

#endif
