/* inquiry.h: what a command opens to ask a model questions that it pays for once:
 * the model with its budget, the prompts, a database of the calls in a folder that
 * no other process has open, and a display. */
#ifndef PROMPT_INQUIRY_H
#define PROMPT_INQUIRY_H

#include "io/loop.h"
#include "io/term.h"
#include "llm/ask_all.h"
#include "llm/modeling.h"
#include "prompt/prompt.h"
#include "store/lock.h"

/* All zero before it is opened; must not move then. */
struct inquiry {
    struct modeling model;
    struct prompts *prompts;
    struct term *term; /* of the caller; closed with the rest */
    /* private */
    struct loop *loop, *own;
    struct lock lock;
    struct store *store;
    struct ledger *ledger;
    int64_t max_tokens;
};

struct inquiry_opts {
    const struct modeling_values *values;
    const char *home;       /* the folder that has prompts/ */
    const char *dir, *file; /* of the database; the folder is made */
    struct loop *loop;      /* NULL: one of its own */
};

/* The options of the model are checked before anything is written. Close it in any
 * case. */
int inquiry_open(struct inquiry *a, const struct inquiry_opts *o,
                 struct err *e);
/* How its questions are asked. Signals stop it. */
struct ask_parts inquiry_parts(const struct inquiry *a);
/* Shows how many questions are answered, and after `note` what they cost. */
void inquiry_step(struct inquiry *a, size_t done, const char *note);
/* 0 when all was asked; else an error: `kept` is what the folder keeps, "the
 * replies". Not for ASK_WAITING. */
int inquiry_ended(enum ask_end end, const char *dir, const char *kept,
                  struct err *e);
/* Fails when the store could not be written to the end. The loop must still be
 * there. */
int inquiry_close(struct inquiry *a, struct err *e);

#endif
