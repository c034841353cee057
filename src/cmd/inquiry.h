/* inquiry.h: what a command needs that asks a model besides a run: the model, its
 * budget, the templates, and a folder whose store keeps every answer. */
#ifndef CMD_INQUIRY_H
#define CMD_INQUIRY_H

#include "base/home.h"
#include "io/term.h"
#include "ledger/ledger.h"
#include "llm/modeling.h"
#include "prompt/prompt.h"
#include "store/lock.h"

struct inquiry {
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
int inquiry_open(struct inquiry *a, const struct modeling_values *m,
                 const char *dir, const char *name, struct err *e);
int inquiry_close(struct inquiry *a, struct err *e);

/* Shows how many questions are answered, and what they cost. */
void inquiry_step(struct inquiry *a, size_t done);

#endif
