/* embed.h: the built-in embedding: identifiers, torch operators and pairs of
 * neighbours, hashed into a fixed number of dimensions and weighted by how rare
 * they are among the learned texts. No model, no network; the same texts give
 * the same vectors on every machine. */
#ifndef SEARCH_EMBED_H
#define SEARCH_EMBED_H

#include "base/err.h"
#include "base/str.h"
#include "llm/ledger.h"

#include <stddef.h>

#define EMBED_DIM    1024
#define EMBED_SOURCE "hash/1"

struct embed;
struct embed *embed_new(void);
void embed_free(struct embed *m);
/* Learns which words are rare, in any order. Learn all texts before making the
 * first vector. */
void embed_learn(struct embed *m, struct str python);
/* Of unit length; all zeros for a text without words. */
void embed_vector(const struct embed *m, struct str python,
                  float out[EMBED_DIM]);

/* ---- a vector for each text, built in or from an endpoint. Requests to an endpoint are
 * calls like any other (ledger.h): they count towards the cap, and a run never pays for a
 * text twice ---- */

/* All borrowed. */
struct vectors_parts {
    struct loop *loop;
    struct store *store;
    struct ledger *ledger;
    struct llm *client; /* from llm_open_embeddings(); NULL: built in */
    const char *model;  /* the endpoint's */
    const bool *hurry; /* may be NULL; once true, does not wait for answers. The
                          code that sets it stops the loop */
};

enum vectors_end {
    VECTORS_DONE,
    VECTORS_STOPPED,   /* after ledger_stop() */
    VECTORS_NO_BUDGET, /* no room under the cap */
};

/* The caller frees v. */
struct vectors {
    float *v; /* text i starts at [i * dim] */
    size_t dim;
    struct embed *embed;  /* what has made them, for more like them; NULL: an
                            endpoint has. The caller frees it */
    struct llm_cost need; /* VECTORS_NO_BUDGET: cost of the next request */
};

/* Runs the loop until all vectors are ready. Returns -1 if an endpoint does not
 * answer, or sends vectors of a different length than before. */
int vectors_make(const struct vectors_parts *p, const struct str *text,
                 size_t count, struct vectors *out, struct err *e);

#endif
