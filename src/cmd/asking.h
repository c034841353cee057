/* asking.h: what a command needs that asks a model besides a run: the model, its
 * budget, the templates, and a folder whose store keeps every answer. */
#ifndef CMD_ASKING_H
#define CMD_ASKING_H

#include "base/home.h"
#include "io/term.h"
#include "ledger/ledger.h"
#include "llm/modeling.h"
#include "prompt/prompt.h"
#include "store/lock.h"

struct asking {
    struct home home;
    struct loop *loop;
    struct modeling model;
    struct prompts *prompts;
    struct lock lock;
    struct store *store;
    struct ledger *ledger;
    struct term *term;
};

/* Answers go to the store `name` in `dir`. The struct is all zero before, and
 * must not move. Close in any case. */
int asking_open(struct asking *a, const struct modeling_values *m,
                const char *dir, const char *name, struct err *e);
int asking_close(struct asking *a, struct err *e);

/* Shows how many questions are answered, and what they cost. */
void asking_step(struct asking *a, size_t done);

#endif
