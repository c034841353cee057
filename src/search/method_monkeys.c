/* method_monkeys.c: in each iteration, one mini-batch of unsolved tasks after
 * the other. Solved kernels become examples for the batches that follow. */
#include "search/attempt.h"

#include <string.h>

static bool next_batch(struct search *s, struct round *r)
{
    size_t batch_size = (size_t)s->opt.batch;
    size_t from = r->number == 1 ? 0 : r->after;
    int iteration = r->number == 1 ? 1 : r->iteration;
    int batch = r->number == 1 ? 1 : r->batch + 1;

    for (; iteration <= s->opt.attempts; iteration++, from = 0, batch = 1) {
        if (batch == 1)
            course_release(s, iteration);
        round_begin(r, iteration, batch, iteration, batch_size);
        if (round_fill(s, r, from, batch_size))
            return true;
    }
    return false;
}

static bool next_round(struct search *s, struct round *r)
{
    return s->eager ? round_single(s, r) : next_batch(s, r);
}

static void choose(struct search *s, struct attempt *a)
{
    const char *by = s->opt.retrieval;

    if (strcmp(by, "coverage") == 0)
        choose_covering(s, a);
    else if (strcmp(by, "random") == 0 ||
             (strcmp(by, "alternating") == 0 && a->number % 2 == 0))
        choose_random(s, a);
    else
        choose_similar(s, a);
}

const struct method method_monkeys = {
    .name = "monkeys",
    .two_stage = true,
    .may_be_eager = true,
    .shows_run = true,
    .next_round = next_round,
    .choose = choose,
};
