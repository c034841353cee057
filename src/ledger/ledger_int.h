/* ledger_int.h: shared by ledger.c (from the question to the answer), calls.c
 * (the open calls), room.c (calls that wait for budget) and known.c (calls that
 * are in the store). */
#ifndef LEDGER_LEDGER_INT_H
#define LEDGER_LEDGER_INT_H

#include "base/map.h"
#include "ledger/ledger.h"

/* A question that was asked before, as the store has it. */
struct known_call {
    int64_t tries;
    char prompt[HASH_HEX]; /* of the try that has a reply, or may get one */
    char reply[HASH_HEX];  /* "": there is no reply yet */
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

/* ---- calls ---- */

struct ledger_call {
    struct ledger *l;
    struct ledger_question q;
    ledger_fn *fn;
    void *arg;
    struct known_call *known; /* or NULL */
    struct llm_call *call;    /* with the front, or NULL */
    struct llm_cost
        from_purse;      /* the part of its reservation that the purse pays */
    struct row_call row; /* state NULL: not in the store yet */
    int64_t tries;
    int failures;
    bool parked;
    uint64_t defer; /* nonzero: the loop will send it */
    int storing;    /* callbacks that the store still owes */
    char reply[HASH_HEX];
    struct buf text;
    bool cut;
    struct ledger_call *prev, *next;
    /* Calls with the same question share one request. The first is the leader;
     * the others are in its list `joined`, and in no other list. */
    struct ledger_call *leader, *joined;
};

struct ledger {
    struct ledger_parts part;
    struct map known;
    struct ledger_call *first, *last; /* in the order of asking */
    size_t count, parked, in_flight;
    bool stopping;
    uint64_t look; /* nonzero: the loop will run room_look()'s check */
};

/* ---- calls.c ---- */

void calls_link(struct ledger_call *c); /* at the end of the ledger's list */
void calls_unlink(struct ledger_call *c);
void calls_free(struct ledger_call *c);
/* The open call with the same question, or NULL. */
struct ledger_call *calls_find(const struct ledger *l,
                               const struct ledger_question *q);
/* `c` waits for the leader's answer. */
void calls_join(struct ledger_call *leader, struct ledger_call *c);
/* `c` waits no longer. Frees it. */
void calls_leave(struct ledger_call *c);
/* The leader is about to be dropped: the next in its list becomes the leader
 * and sends the question itself, because what a question points to belongs to
 * its own caller. It is sent from the loop: that caller may drop it, too. */
void calls_pass_on(struct ledger_call *leader);

/* ---- ledger.c ---- */

void ledger_send(struct ledger_call *c);
/* Gives the answer to all callers that wait for it, and frees the call. */
void ledger_finish(struct ledger_call *c, struct ledger_answer *a);

/* ---- room.c ---- */

bool room_is_nothing(struct llm_cost c);
/* a - b, for dollars and tokens each, and at least 0. */
struct llm_cost room_above(struct llm_cost a, struct llm_cost b);
/* What an earlier process has reserved for the question. */
struct llm_cost room_held(const struct ledger_call *c);
/* The first call on a purse fills it; false: there is no room. */
bool room_fill_purse(struct ledger_call *c);
/* The call waits for room. */
void room_park(struct ledger_call *c);
/* Room may have come: parked calls are tried again. What has begun is finished
 * first: while a call without a `then` is parked, none that has one is
 * tried. */
void room_unpark(struct ledger *l);
/* When all calls are parked, nobody can make room. Looked at from the loop:
 * whoever asks may be about to ask something cheaper. */
void room_look(struct ledger *l);

#endif
