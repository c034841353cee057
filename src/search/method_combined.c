/* method_combined.c: evolution in three phases. Solved kernels join the archive
 * between them. */
#include "search/attempt.h"

#define PHASES 3

/* A task that was stopped within a phase continues there. A phase without tasks
 * is skipped. With pieces, a phase has a round for each depth. */
static bool next_phase(struct search *s, struct round *r)
{
    size_t from = r->number == 1 ? 0 : r->after;
    int phase = r->number == 1 ? 1 : r->batch;

    for (; phase <= PHASES; phase++, from = 0) {
        int64_t until = 0;

        for (int i = 0; i < phase; i++)
            until += s->opt.phase[i];
        round_begin(r, 0, phase, (int)until, (size_t)s->opt.slots);
        if (round_fill(s, r, from, s->subject_len))
            return true;
    }
    return false;
}

/* The seeds in the first phase, then similar entries. The archive does not
 * change within a round, so neither does the choice. */
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
    .shows_run = true,
    .next_round = next_phase,
    .choose = choose,
};
