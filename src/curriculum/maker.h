/* maker.h: makes a curriculum from tasks.
 *
 * The verifier divides each task (verifier.h). A model starts from that
 * division and proposes another, which the verifier validates. A refused
 * proposal goes back to the model with the reasons, at most three times; after
 * that the division without a model is used.
 *
 * Every call goes through the ledger; the task, the level, the turn and the
 * prompt identify it. A prompt follows from the task, the verifier's answers
 * and earlier replies. So work that was stopped is repeated from the store, at
 * no cost, up to where it stopped. */
#ifndef CURRICULUM_MAKER_H
#define CURRICULUM_MAKER_H

#include "curriculum/curriculum.h"
#include "llm/ask_all.h"
#include "prompt/prompt.h"
#include "source/task.h"
#include "verify/verifier.h"

#include <stddef.h>

#define MAKER_REPAIRS 3 /* of a model's proposal */

/* All borrowed. */
struct maker_parts {
    struct ask_parts ask; /* its loop is the verifier's; no ledger: no model */
    const struct prompts *prompts;
    struct verifier *verifier;
    const struct job_opts *job;
};

struct maker;
/* `tasks` is borrowed. */
struct maker *maker_new(const struct maker_parts *p,
                        const struct collection *tasks, enum piece_level level);
void maker_free(struct maker *m); /* may be NULL */
/* Works until it ends; runs the loop. When it fails for some of the tasks, it is
 * done with the others first. */
enum ask_end maker_run(struct maker *m, struct err *e);
void maker_stop(struct maker *m); /* see ask_all_stop() */

/* After ASK_DONE: the curriculum. Release it in any case. Besides what the
 * contract has, the outline of a problem that a model was asked about has
 * "model": {"calls", "used", "refused": [findings of each refused reply]}. */
int maker_take(const struct maker *m, struct curriculum *out, struct err *e);

/* Several decompositions become one curriculum. Two subproblems are one piece if their
 * programs differ in names, comments and layout alone and their inputs are equal. */
struct merge_part {
    const struct task *task;
    const json_t *answer; /* CONTRACT_ANSWER, checked */
};

/* A piece has the name of the first problem that has it. It needs what any of
 * its problems says, as long as no piece comes to need itself. Pieces and
 * problems are independent of `part` afterwards. Release in any case. */
int curriculum_merge(struct curriculum *out, const struct merge_part *part,
                     size_t n, struct err *e);

#endif
