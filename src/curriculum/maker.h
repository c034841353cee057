/* maker.h: makes a curriculum from tasks.
 *
 * The verifier divides each task (door.h). With a model, that division is where
 * the model starts from: it proposes another, which the verifier validates. A
 * proposal that is refused goes back to the model with the reasons, three times
 * at most; after that the division without a model is used.
 *
 * Every call goes through the ledger, known by the task, the level, the turn and
 * the prompt. What a prompt says follows from the task, from the verifier's
 * answers and from earlier replies: work that was stopped is repeated from the
 * store, for nothing, up to where it stopped. */
#ifndef CURRICULUM_MAKER_H
#define CURRICULUM_MAKER_H

#include "curriculum/curriculum.h"
#include "ledger/ledger.h"
#include "prompt/prompt.h"
#include "task/collection.h"
#include "verify/door.h"

#include <stddef.h>
#include <stdint.h>

#define MAKER_REPAIRS 3 /* of a model's proposal */

/* All borrowed. */
struct maker_model {
    struct ledger *ledger;
    struct llm *front;
    const struct prompts *prompts;
    int64_t max_tokens; /* of an answer; 0: the provider's setting */
};
struct maker_parts {
    struct loop *loop; /* the door's */
    struct door *door;
    const struct job_opts *job;
    const struct maker_model *model; /* NULL: none is asked */
};

enum maker_end {
    MAKER_DONE,
    MAKER_WAITING,   /* for answers of another host: see door_hint() */
    MAKER_NO_BUDGET, /* for the model's next call */
    MAKER_STOPPED,
    MAKER_FAILED, /* see the error */
};

struct maker_progress {
    size_t done;  /* problems */
    size_t calls; /* of a model, those from the store included */
};

struct maker;
/* `tasks` is borrowed. */
struct maker *maker_new(const struct maker_parts *p,
                        const struct collection *tasks, enum piece_level level);
void maker_free(struct maker *m); /* may be NULL */
/* Works until it ends; runs the loop. `step` may be NULL. When it fails for some
 * of the tasks, it is done with the others first. */
enum maker_end maker_run(struct maker *m,
                         void (*step)(const struct maker_progress *p,
                                      void *arg),
                         void *arg, struct err *e);
/* From a callback of the loop: ask no more, and end when the replies under way
 * are stored; called again, end now. */
void maker_stop(struct maker *m);

/* After MAKER_DONE: the curriculum. Release it in any case. Besides what the
 * contract has, the outline of a problem that a model was asked about has
 * "model": {"calls", "used", "refused": [findings of each refused reply]}. */
int maker_take(const struct maker *m, struct curriculum *out, struct err *e);

#endif
