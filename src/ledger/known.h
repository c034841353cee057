/* known.h: the questions that were asked before, as the store has them. Private to
 * src/ledger. */
#ifndef LEDGER_KNOWN_H
#define LEDGER_KNOWN_H

#include "base/map.h"
#include "ledger/ledger.h"

struct known_call {
    int64_t tries;
    char prompt[HASH_HEX]; /* of the try that has a reply, or may get one */
    char reply[HASH_HEX];  /* "": there is no reply yet */
    bool storing;          /* the reply may not be on disk yet */
    bool cut;
    struct llm_cost held; /* reserved by a call that has no reply yet */
};

/* Reads all calls of the store into `known`, by purpose and hash, and counts
 * what they cost or reserve in the budget. */
int known_load(struct store *s, struct budget *b, struct map *known,
               struct err *e);
struct known_call *known_find(const struct map *known, const char *purpose,
                              const char *asked);
/* The same, but adds a missing one. */
struct known_call *known_put(struct map *known, const char *purpose,
                             const char *asked);
void known_release(struct map *known);
/* Marks the row of a call without a reply as lost: its reservation counts as
 * spent. */
void known_make_lost(struct row_call *r);

#endif
