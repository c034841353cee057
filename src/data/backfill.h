/* backfill.h: plans for kernels that were written in one stage. A model is asked
 * for the plan of each, and the kernel becomes training data in two stages: the
 * planning prompt that its run would have sent, and the plan; the coding prompt
 * with that plan, and the kernel.
 *
 * Its prompt identifies a question, so a stored answer is never paid for again.
 */
#ifndef DATA_BACKFILL_H
#define DATA_BACKFILL_H

#include "data/samples.h"
#include "llm/ask_all.h"
#include "pack/pack.h"
#include "prompt/prompt.h"
#include "run/attempt_view.h"

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

/* The plan of a kernel; p NULL: none was asked for, or none was given. */
struct str backfill_plan(const struct backfill *b, const struct sample *x);
const char *backfill_model(const struct backfill *b);
/* The prompt of a stage for the kernel `v` with its plan; texts are in the
 * view's memory. */
int backfill_prompt(struct backfill *b, const struct sample *x,
                    struct attempt_view *v, enum prompt_stage stage,
                    struct prompt *out, struct err *e);

#endif
