/* ask.h: the questions outside of attempts: borrowing, plans of kernels,
 * decomposition, reading for a guide, and asking again for JSON that could not
 * be read. Answers to those that want JSON are read with extract_json(). */
#ifndef PROMPT_ASK_H
#define PROMPT_ASK_H

#include "prompt/prompt.h"

/* `reply` was to be JSON of the form `shape` (an example), and `why` says what
 * is wrong with it. */
void prompts_repair(const struct prompts *p, struct str reply,
                    const char *shape, const char *why, struct arena *a,
                    struct prompt *out);

/* A text and what it is called. */
struct prompt_part {
    const char *name;
    struct str text;
};

/* What `target` took over from the programs it was written with; all are shown
 * with line numbers, the parents have the ids "1", "2", …. Answer: {"borrowed":
 * [{"parent_id", "concept", "parent_lines", "target_lines", "rationale"}]}. */
void prompts_borrowing(const struct prompts *p,
                       const struct prompt_part *target,
                       const struct prompt_part *parent, size_t parent_count,
                       struct arena *a, struct prompt *out);
extern const char prompt_borrowing_shape[];

/* What an answer says. Ranges are cut to the program; findings about an unknown
 * parent are dropped. */
struct prompt_borrowed {
    size_t lines;    /* of the target that are not blank */
    size_t borrowed; /* of these, how many a finding names */
    size_t findings, dropped;
};
/* ERR_INPUT says why it is no answer: ask again with prompts_repair(). */
int prompts_borrowing_read(struct str reply, struct str target,
                           size_t parent_count, struct prompt_borrowed *out,
                           struct err *e);

/* The plan of a kernel that was written without one. Answer: text, as that of a
 * planning prompt. */
struct prompt_backfill {
    const struct pack *pack;
    struct str task, solution;
    const char *precision; /* "fp32", "tf32", "fp16", "bf16" */
    const char *device;    /* "cpu", "cuda:0" */
};
int prompts_backfill(const struct prompts *p, const struct prompt_backfill *in,
                     struct arena *a, struct prompt *out, struct err *e);

/* A task to be divided into pieces. Texts that are empty are left out. Answer:
 * curriculum/contract.h. */
struct prompt_decompose {
    const char *name;
    struct str task;     /* its source */
    const char *level;   /* "coarse", "medium", "fine" */
    int64_t pieces;      /* about how many that is */
    struct str trace;    /* the intermediate results */
    struct str proposal; /* a division made without a model */
    struct str refusals; /* what was wrong with earlier answers, */
    struct str last;     /* and the last of these */
};
void prompts_decompose(const struct prompts *p,
                       const struct prompt_decompose *d, struct arena *a,
                       struct prompt *out);

/* A turn of a reader of documents (guide.h). Answer: actions
 * (guide.c). */
struct prompt_guide {
    const char *dsl;      /* as prompts call it */
    int64_t words;        /* of the guide */
    const char *question; /* NULL: the guide itself is to be written */
    struct str contents;  /* a manifest, or the text itself: */
    bool whole;
    struct str history; /* what was found so far; may be empty */
    bool may_ask, last;
};
void prompts_guide(const struct prompts *p, const struct prompt_guide *g,
                   struct arena *a, struct prompt *out);

/* ---- the reviewer: a model that reads an accepted kernel and says whether the
 * acceptance was earned ---- */

struct review_input {
    const struct pack *pack;
    struct str task, solution;
    const char *precision; /* "fp32", "tf32", "fp16", "bf16" */
};

/* The solution is shown without comments and docstrings: they could only
 * persuade. */
int review_build(const struct prompts *p, const struct review_input *in,
                 struct arena *a, struct prompt *out, struct err *e);

struct review {
    double score;        /* 0: a hack, to 1: earned */
    const char *summary; /* "" when not given */
    const char **reason; /* reason[0..reason_count) */
    size_t reason_count;
};
extern const char review_shape[]; /* for prompts_repair() */

/* Reads an answer; everything lives in `a`. ERR_INPUT says why it is none:
 * then it is asked for again with prompts_repair(). */
int review_parse(struct str reply, struct arena *a, struct review *out,
                 struct err *e);

/* Under which a review is kept: the same model was asked the same. */
void review_key(const char *model, const struct prompt *p, char key[HASH_HEX]);

#endif
