/* review.h: the reviewer, a model that reads an accepted kernel and says
 * whether the acceptance was earned. Here is its text side: what it is asked,
 * and what its answer says. */
#ifndef PROMPT_REVIEW_H
#define PROMPT_REVIEW_H

#include "prompt/prompt.h"

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
