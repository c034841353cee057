/* proposing.h: what a model is shown when it is asked for a division, and what
 * was wrong with its replies. Private to src/curriculum. */
#ifndef CURRICULUM_PROPOSING_H
#define CURRICULUM_PROPOSING_H

#include "base/arena.h"
#include "base/json.h"
#include "curriculum/contract.h"
#include "prompt/prompt.h"
#include "source/task.h"

struct proposing {
    const struct task *task;
    enum piece_level level;
    const json_t *own;     /* the verifier's division: CONTRACT_ANSWER */
    const json_t *refused; /* a list of findings for each refused reply */
    struct str last;       /* the last of these replies; may be empty */
};

/* The prompt of the next turn, in `a`. */
void proposing_prompt(const struct prompts *p, const struct proposing *x,
                      struct arena *a, struct prompt *out);
/* A list with one finding: the reply itself is of no use. */
json_t *proposing_finding(const char *code, const char *detail);

#endif
