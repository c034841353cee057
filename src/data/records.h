/* records.h: training records of solved tasks: conversations whose last message
 * is what to learn, and where they come from. All texts are as the run has
 * stored them: the prompts are what was sent, byte for byte.
 *
 * sft: for each task the question for a plan and the plan, and the question for
 * the code and the code; only the latter if it was solved in one stage. With a
 * plan from data/backfill.h there are both, and the questions are those that
 * the run would have sent in two stages.
 *
 * refine: for each attempt that failed before the task was solved, its question,
 * its code, the feedback to that, and the code that solved the task. */
#ifndef DATA_RECORDS_H
#define DATA_RECORDS_H

#include "data/backfill.h"
#include "data/chat.h"
#include "data/samples.h"
#include "run/attempt_view.h"

#define RECORD_MESSAGES 5

/* Borrowed, until the function that it is given to returns. */
struct record {
    const char *phase; /* "plan", "code", "fix" */
    const struct sample *sample;
    const struct attempt_view *attempt; /* whose prompt it is */
    const char *model;                  /* that wrote the answer; NULL: the
                                           run's */
    bool backfilled;                    /* the plan was asked for afterwards */
    const char *verdict;                /* of what failed; NULL: nothing did */
    struct chat_message message[RECORD_MESSAGES];
    size_t messages; /* 0: the run has not stored the prompt */
};

typedef int record_fn(const struct record *r, void *arg, struct err *e);

struct record_kind {
    const char *name;
    const char *what;                   /* for people */
    const char *field[RECORD_MESSAGES]; /* the messages in a flat record */
    /* Calls `fn` for each record until it returns other than 0. `b` has plans,
     * or is NULL. */
    int (*each)(const struct sample *x, struct backfill *b, record_fn *fn,
                void *arg, struct err *e);
};
extern const struct record_kind record_sft, record_refine;

#endif
