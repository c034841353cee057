/* ledger_int.h: shared by ledger.c (calls), room.c (calls that wait for room)
 * and known.c (calls in the store). */
#ifndef LEDGER_LEDGER_INT_H
#define LEDGER_LEDGER_INT_H

#include "base/map.h"
#include "ledger/ledger.h"

/* A question that the store has. */
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
/* The same; one that is not there is added. */
struct known_call *known_put(struct map *known, const char *purpose,
                             const char *asked);
void known_release(struct map *known);
/* Turns the row of an open call into that of a lost one. */
void known_make_lost(struct row_call *r);

/* ---- calls ---- */

struct ledger_call {
    struct ledger *l;
    struct ledger_question q;
    ledger_fn *fn;
    void *arg;
    struct known_call *known;   /* or NULL */
    struct llm_call *call;      /* with the front, or NULL */
    struct llm_cost from_purse; /* goes with `call` once that is reserved */
    struct row_call row;        /* state NULL: it is not in the store yet */
    int64_t tries;
    int failures;
    bool parked;
    uint64_t defer; /* it is sent from the loop */
    int storing;    /* callbacks of the store that will come */
    char reply[HASH_HEX];
    struct buf text;
    bool cut;
    struct ledger_call *prev, *next;
    /* Somebody else has asked the same before and waits for the answer: this
     * call is in the list of that one, and nowhere else. */
    struct ledger_call *leader, *joined;
};

struct ledger {
    struct ledger_parts part;
    struct map known;
    struct ledger_call *first, *last; /* in the order of asking */
    size_t count, parked, in_flight;
    bool stopping;
    uint64_t look; /* for room that will not come */
};

void ledger_send(struct ledger_call *c);
/* Hands the answer to everybody who waits for it, and frees the call. */
void ledger_finish(struct ledger_call *c, struct ledger_answer *a);

/* ---- room.c ---- */

bool room_is_nothing(struct llm_cost c);
/* The difference, and nothing where that is less. */
struct llm_cost room_above(struct llm_cost a, struct llm_cost b);
/* What an earlier process has reserved for the question. */
struct llm_cost room_held(const struct ledger_call *c);
/* The first call on a purse fills it; false: there is no room. */
bool room_fill_purse(struct ledger_call *c);
/* The call waits for room. */
void room_park(struct ledger_call *c);
/* Room may have come. What has begun is finished before anything else begins:
 * calls that start something new wait until no other one does. */
void room_unpark(struct ledger *l);
/* When all calls are parked, nobody can make room. Looked at from the loop:
 * whoever asks may be about to ask something cheaper. */
void room_look(struct ledger *l);

#endif
