/* paying.h: what a command opens to ask a model questions that it pays for once:
 * the model with its budget, the prompts, and a database of the calls in a folder
 * that no other process has open. */
#ifndef CMD_PAYING_H
#define CMD_PAYING_H

#include "io/loop.h"
#include "llm/ask_all.h"
#include "llm/modeling.h"
#include "prompt/prompt.h"
#include "store/lock.h"

struct paying {
    struct modeling model;
    struct prompts *prompts;
    struct lock lock;
    struct store *store;
    struct ledger *ledger;
};

struct paying_opts {
    const struct modeling_values *values;
    const char *home;       /* the folder that has prompts/ */
    const char *dir, *file; /* of the database; the folder is made */
    struct loop *loop;
};

/* The options of the model are checked before anything is written. After a failure,
 * too, paying_close() releases what is open. */
int paying_open(struct paying *a, const struct paying_opts *o, struct err *e);
/* How its questions are asked. Signals stop it. */
struct ask_parts paying_parts(const struct paying *a, struct loop *l,
                              const struct modeling_values *v);
/* 0 when all was asked; else an error: `kept` is what the folder keeps, "the
 * replies". Not for ASK_WAITING. */
int paying_ended(enum ask_end end, const char *dir, const char *kept,
                 struct err *e);
/* Fails when the store could not be written to the end. A zeroed `a` is closed. The
 * loop must still be there. */
int paying_close(struct paying *a, struct err *e);

#endif
