/* Outcome counts: per entry, per stage. */
#include "find/outcome.h"
#include "tap.h"

void suite_outcome(void);

static void is_count(const struct outcome *o, int64_t entry,
                     enum prompt_stage stage, struct outcome_count want)
{
    struct outcome_count got = outcome_get(o, entry, stage);

    ok(got.shown == want.shown && got.solved == want.solved,
       "entry %lld at stage %d: %lld of %lld", (long long)entry, (int)stage,
       (long long)want.solved, (long long)want.shown);
}

void suite_outcome(void)
{
    struct outcome *o = outcome_new();

    is_count(o, 7, PROMPT_CODE, (struct outcome_count){0, 0});
    outcome_shown(o, 7, PROMPT_CODE);
    outcome_shown(o, 7, PROMPT_CODE);
    outcome_solved(o, 7, PROMPT_CODE);
    outcome_shown(o, 7, PROMPT_PLAN);
    is_count(o, 7, PROMPT_CODE, (struct outcome_count){2, 1});
    is_count(o, 7, PROMPT_PLAN, (struct outcome_count){1, 0});
    is_count(o, 7, PROMPT_EVOLVE, (struct outcome_count){0, 0});
    for (int64_t entry = -500; entry < 500; entry++)
        outcome_shown(o, entry, PROMPT_EVOLVE);
    outcome_solved(o, -500, PROMPT_EVOLVE);
    is_count(o, 7, PROMPT_CODE, (struct outcome_count){2, 1});
    is_count(o, 7, PROMPT_EVOLVE, (struct outcome_count){1, 0});
    is_count(o, -500, PROMPT_EVOLVE, (struct outcome_count){1, 1});
    is_count(o, 500, PROMPT_EVOLVE, (struct outcome_count){0, 0});
    outcome_free(o);
}
