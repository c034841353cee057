/* method_combined.c: evolution in three phases. Solved kernels join the archive
 * between them. */
#include "search/attempt.h"

#define PHASES 3

/* A task that was stopped within a phase continues there. A phase without tasks
 * is skipped. */
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

/* The seeds in the first phase, then similar entries. The archive does not
 * change within a phase, so neither does the choice. */
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
