/* records.h: training records of solved tasks: conversations whose last message
 * is what to learn, and where they come from. All texts are as the run has
 * stored them: the prompts are what was sent, byte for byte.
 *
 * sft: for each task the question for a plan and the plan, and the question for
 * the code and the code; only the latter if it was solved in one stage, and nobody
 * was asked for the plan.
 *
 * refine: for each attempt that failed before the task was solved, its question,
 * its code, the feedback to that, and the code that solved the task. */
#ifndef DATA_RECORDS_H
#define DATA_RECORDS_H

#include "base/hash.h"
#include "data/chat.h"
#include "data/overlap.h"
#include "llm/ask_all.h"
#include "pack/pack.h"
#include "prompt/prompt.h"

/* ---- samples: the tasks of runs that records can be made of: solved (their kernel may join
 * an archive), each program once, and no program of a benchmark. Neither the task nor the
 * examples in its prompts may overlap with the benchmark; only the pack's seeds are not
 * compared. ---- */

struct samples_how {
    const char *const *run; /* folders */
    size_t runs;
    const struct overlap *against;
    bool drop_overlap; /* leave tasks with an overlap out; else an error */
    int64_t seed;
    int64_t test_percent;
};

struct sample {
    struct store *store; /* of the run in this folder */
    const char *dir;
    const json_t *row;   /* of the task and its kernel: see run/kernels.sql */
    char hash[HASH_HEX]; /* the same for programs that differ only in names of
                            variables, comments, docstrings and layout */
    bool test;           /* by hash and seed alone */
    uint64_t rank;       /* by hash and seed alone: a random order */
};

struct samples_counts {
    size_t tasks, unsolved, retired, duplicates, overlaps;
    size_t pieces; /* solved ones of a curriculum, which are no samples */
};

struct samples {
    struct samples_run {
        struct store *store;
        json_t *rows;
    } * run;
    size_t runs;
    struct sample *item; /* in the order of the runs and of their tasks */
    size_t len, cap;
    struct samples_counts count;
};

/* With an overlap, ERR_INPUT names the first task and what it has in common
 * with the benchmark; each is logged. Close in any case. */
int samples_open(struct samples *s, const struct samples_how *how,
                 struct err *e);
void samples_close(struct samples *s);

/* ---- plans for kernels that were written in one stage. A model is asked for the
 * plan of each, and the kernel becomes training data in two stages: the planning
 * prompt that its run would have sent, and the plan; the coding prompt with that
 * plan, and the kernel. Its prompt identifies a question, so a stored answer is never
 * paid for again. ---- */

/* All borrowed. */
struct backfill_parts {
    struct ask_parts ask;
    struct prompts *prompts;
    const struct packs_path *packs;
    const char *model; /* for the records; NULL: not known */
};

struct backfill;
struct backfill *backfill_new(const struct backfill_parts *p);
void backfill_free(struct backfill *b); /* may be NULL */

/* Asks for the plans that are not stored; runs the loop. A kernel whose question
 * fails, or whose answer is empty or cut, stays without a plan; each is logged.
 * The samples must stay where they are. */
enum ask_end backfill_run(struct backfill *b, const struct samples *s,
                          struct err *e);
size_t backfill_items(const struct backfill *b);

/* ---- records ---- */

#define RECORD_MESSAGES 5

/* Borrowed, until the function that it is given to returns. */
struct record {
    const char *phase; /* "plan", "code", "fix" */
    const struct sample *sample;
    const json_t *attempt; /* whose prompt it is: see data/attempt.sql */
    const char *model;     /* that wrote the answer; NULL: the run's */
    bool backfilled;       /* the plan was asked for afterwards */
    const char *verdict;   /* of what failed; NULL: nothing did */
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
