/* asking.h: what a command opens to ask a model questions that it pays for once:
 * the model with its budget, the prompts, and a database of the calls in a folder
 * that no other process has open. */
#ifndef CMD_ASKING_H
#define CMD_ASKING_H

#include "io/loop.h"
#include "ledger/ledger.h"
#include "llm/modeling.h"
#include "prompt/prompt.h"
#include "store/lock.h"

struct asking {
    struct modeling model;
    struct prompts *prompts;
    struct lock lock;
    struct store *store;
    struct ledger *ledger;
};

struct asking_opts {
    const struct modeling_values *values;
    const char *home;       /* the folder that has prompts/ */
    const char *dir, *file; /* of the database; the folder is made */
    struct loop *loop;
};

/* The options of the model are checked before anything is written. After a failure,
 * too, asking_close() releases what is open. */
int asking_open(struct asking *a, const struct asking_opts *o, struct err *e);
/* Fails when the store could not be written to the end. A zeroed `a` is closed. The
 * loop must still be there. */
int asking_close(struct asking *a, struct err *e);

#endif
