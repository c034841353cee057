/* method_combined.c: evolution in three phases; between two of them what was
 * solved joins the archive. */
#include "search/attempt.h"

#define PHASES 3

/* A task that was stopped in the middle of a phase makes the rest of it. A
 * phase without tasks is passed over. */
static bool next_phase(struct search *s, struct round *r)
{
    for (; r->number <= PHASES; r->number++) {
        int64_t until = 0;

        for (size_t i = 0; i < r->number; i++)
            until += s->opt.phase[i];
        round_begin(r, 0, (int)r->number, (int)until, (size_t)s->opt.slots);
        if (round_fill(s, r, 0, s->subject_len))
            return true;
    }
    return false;
}

/* The seeds at first, then what is near. The archive stands still within a
 * phase, so the choice does, too. */
static void choose(struct search *s, struct attempt *a)
{
    if (a->batch == 1)
        choose_seeds(s, a);
    else
        choose_similar(s, a);
}

const struct method method_combined = {
    .name = "combined",
    .evolves = true,
    .next_round = next_phase,
    .choose = choose,
};
