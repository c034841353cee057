/* method.c: the five methods. A method is a way to divide the work into rounds
 * (between two of them what was solved joins the archive) and a way to choose
 * examples; docs/METHODS.md tells them at length. */
#include "base/mem.h"
#include "search/search_int.h"

#include <string.h>

static bool takes_part(const struct search *s, const struct subject *t)
{
    return !t->skipped && !t->aside && (!t->solved || s->opt.no_stop) &&
           t->past_len < (size_t)s->opt.attempts;
}

static void add_subject(struct round *r, size_t index)
{
    r->subject = xgrow(r->subject, &r->cap, r->count, sizeof(*r->subject));
    r->subject[r->count++] = index;
}

static void begin_round(struct round *r, int each, int iteration, int batch)
{
    r->count = r->next = r->active = 0;
    r->each = each;
    r->iteration = iteration;
    r->batch = batch;
}

/* ---- rounds ---- */

/* Nobody learns from anybody: one round for everything. */
static bool one_round(struct search *s, struct round *r)
{
    if (s->round_number > 1)
        return false;
    begin_round(r, (int)s->opt.attempts, 0, 0);
    for (size_t i = 0; i < s->subject_len; i++)
        if (takes_part(s, &s->subject[i]))
            add_subject(r, i);
    return r->count > 0;
}

/* Attempts 1 to phase[0] in the first, and so on. A subject that was stopped
 * in the middle of a phase has its rest only. */
static bool three_phases(struct search *s, struct round *r)
{
    int64_t until = 0;

    if (s->round_number > 3)
        return false;
    for (size_t i = 0; i < s->round_number; i++)
        until += s->opt.phase[i];
    begin_round(r, (int)s->opt.phase[s->round_number - 1], 0,
                (int)s->round_number);
    for (size_t i = 0; i < s->subject_len; i++)
        if (takes_part(s, &s->subject[i]) &&
            s->subject[i].past_len < (size_t)until)
            add_subject(r, i);
    /* an empty phase is passed over */
    if (r->count == 0) {
        s->round_number++;
        return three_phases(s, r);
    }
    return true;
}

/* Iteration by iteration, a mini-batch of the unsolved at a time. */
static bool mini_batches(struct search *s, struct round *r)
{
    size_t from = r->count ? r->subject[r->count - 1] + 1 : 0;
    int iteration = s->round_number == 1 ? 1 : r->iteration;
    int batch = s->round_number == 1 ? 1 : r->batch + 1;

    for (; iteration <= s->opt.attempts; iteration++, from = 0, batch = 1) {
        begin_round(r, 1, iteration, batch);
        for (size_t i = from;
             i < s->subject_len && r->count < (size_t)s->opt.batch; i++)
            if (takes_part(s, &s->subject[i]) &&
                s->subject[i].past_len < (size_t)iteration)
                add_subject(r, i);
        if (r->count)
            return true;
    }
    return false;
}

static bool monkeys_round(struct search *s, struct round *r)
{
    return strcmp(s->opt.order, "eager") == 0 ? one_round(s, r)
                                              : mini_batches(s, r);
}

/* ---- examples ---- */

static void choose_seeds(struct search *s, struct attempt *a)
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
                           .visible = archive_size(s->archive)};

    rng_init(&rng, "%lld/%s/%d/examples", (long long)s->opt.seed, t->id,
             a->number);
    a->retrieval = names[mode];
    a->hit_count = find_pick(archive_index(s->archive), &q, a->hit,
                             (size_t)s->opt.examples);
}

static void choose_by_option(struct search *s, struct attempt *a)
{
    enum find_mode mode = FIND_SIMILAR;

    if (strcmp(s->opt.retrieval, "random") == 0 ||
        (strcmp(s->opt.retrieval, "alternating") == 0 && a->number % 2 == 0))
        mode = FIND_RANDOM;
    else if (strcmp(s->opt.retrieval, "coverage") == 0)
        mode = FIND_COVERAGE;
    retrieve(s, a, mode);
}

/* The seeds in the first phase, then what is near; the archive stands still
 * within a phase, so the choice does, too. */
static void choose_by_phase(struct search *s, struct attempt *a)
{
    if (a->batch == 1)
        choose_seeds(s, a);
    else
        retrieve(s, a, FIND_SIMILAR);
}

const struct method methods[] = {
    {"monkeys", true, false, monkeys_round, choose_by_option},
    {"sampling", true, false, one_round, choose_seeds},
    {"refine", true, false, one_round, choose_seeds},
    {"evolve", false, true, one_round, choose_seeds},
    {"combined", false, true, three_phases, choose_by_phase},
    {NULL, false, false, NULL, NULL},
};
const char *const method_names[] = {"monkeys", "sampling", "refine",
                                    "evolve",  "combined", NULL};
