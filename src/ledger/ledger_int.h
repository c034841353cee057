/* ledger_int.h: shared by ledger.c (calls) and known.c (calls in the store). */
#ifndef LEDGER_LEDGER_INT_H
#define LEDGER_LEDGER_INT_H

#include "base/map.h"
#include "ledger/ledger.h"

/* A question that an earlier process has stored. */
struct known_call {
    int64_t tries;
    char reply[HASH_HEX]; /* "": it has none */
    bool cut;
    struct llm_cost held; /* reserved by a call that is still open */
};

/* Fills `known` (by purpose and hash) and the budget. */
int known_load(struct store *s, struct budget *b, struct map *known,
               struct err *e);
struct known_call *known_find(const struct map *known, const char *purpose,
                              const char *asked);
void known_release(struct map *known);
/* Turns the row of an open call into that of a lost one. */
void known_make_lost(struct row_call *r);

#endif
