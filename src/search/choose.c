/* choose.c: the examples of an attempt. */
#include "search/attempt.h"

#include "base/rng.h"

void choose_seeds(struct search *s, struct attempt *a)
{
    a->retrieval = "seeds";
    a->hit_count = archive_seeds(s->archive, a->subject->task, a->hit,
                                 (size_t)s->opt.examples);
}

static void retrieve(struct search *s, struct attempt *a, enum find_mode mode)
{
    static const char *const names[] = {"similar", "random", "coverage"};
    const struct task *t = a->subject->task;
    struct rng rng;
    struct find_query q = {.mode = mode,
                           .task = t->id,
                           .task_hash = t->hash,
                           .vector = a->subject->vector,
                           .ops = t->ops,
                           .rng = &rng,
                           .visible = a->visible};

    rng_init(&rng, "%lld/%s/%d/examples", (long long)s->opt.seed, t->id,
             a->number);
    a->retrieval = names[mode];
    a->hit_count = find_pick(archive_index(s->archive), &q, a->hit,
                             (size_t)s->opt.examples);
}

void choose_similar(struct search *s, struct attempt *a)
{
    retrieve(s, a, FIND_SIMILAR);
}

void choose_random(struct search *s, struct attempt *a)
{
    retrieve(s, a, FIND_RANDOM);
}

void choose_covering(struct search *s, struct attempt *a)
{
    retrieve(s, a, FIND_COVERAGE);
}

/* The place of the piece: where it or a twin of it is shown already, behind the
 * others, or in place of the last. */
static size_t place_of_piece(const struct search *s, const struct attempt *a,
                             int64_t entry)
{
    size_t most = (size_t)s->opt.examples;

    for (size_t i = 0; i < a->hit_count; i++)
        if (a->hit[i].entry == entry ||
            archive_are_twins(s->archive, a->hit[i].entry, entry))
            return i;
    return a->hit_count < most ? a->hit_count : most - 1;
}

void choose_piece(struct search *s, struct attempt *a)
{
    int64_t entry = course_piece(s, a->subject, a->number, a->visible);
    size_t at;

    if (!entry || !s->opt.examples)
        return;
    at = place_of_piece(s, a, entry);
    if (at == a->hit_count || a->hit[at].entry != entry)
        a->hit[at] = (struct find_hit){entry, FIND_NO_COSINE};
    if (at == a->hit_count)
        a->hit_count++;
    a->piece_rank = at + 1;
}
