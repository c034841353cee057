/* vectors.h: a vector for each text: by embed.h, or from an endpoint. Vectors
 * of an endpoint are calls like any other (ledger.h): they stand under the cap,
 * and no text is paid for twice in a run. */
#ifndef FIND_VECTORS_H
#define FIND_VECTORS_H

#include "base/err.h"
#include "base/str.h"
#include "ledger/ledger.h"

#include <stddef.h>

/* All borrowed. */
struct vectors_parts {
    struct loop *loop;
    struct store *store;
    struct ledger *ledger;
    struct llm *front; /* by embeddings_front(); NULL: built in */
    const char *model; /* the endpoint's */
    const bool *hurry; /* NULL, or: once true, does not wait for answers; who
                          sets it stops the loop */
};

enum vectors_end {
    VECTORS_DONE,
    VECTORS_STOPPED,   /* after ledger_stop() */
    VECTORS_NO_BUDGET, /* no room under the cap */
};

/* The caller frees v. */
struct vectors {
    float *v; /* of text i from [i * dim] */
    size_t dim;
    struct llm_cost need; /* VECTORS_NO_BUDGET: for the next request */
};

/* Runs the loop until they are there. -1: an endpoint that does not answer, or
 * answers with vectors of another length than before. */
int vectors_make(const struct vectors_parts *p, const struct str *text,
                 size_t count, struct vectors *out, struct err *e);

#endif
