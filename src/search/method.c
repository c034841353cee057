/* method.c: the five methods: what they have in common, then one after the other.
 *
 * A choice of examples depends on the seed, the task's id, the number of the attempt
 * and the archive, each choice with a generator of its own, and never on what happens
 * to run at the same time: otherwise a run could not be repeated or continued. */
#include "search/method.h"

#include "base/mem.h"
#include "base/rng.h"
#include "search/attempt.h"
#include "search/state.h"

#include <string.h>

/* The pack's seeds. */
static void choose_seeds(struct search *s, struct attempt *a)
{
    a->retrieval = "seeds";
    a->hit_count = archive_seeds(s->archive, a->state->task, a->hit,
                                 (size_t)s->opt.examples);
}

/* Any entries. Only monkeys, and combined from its second phase on, do this, so only
 * they show what the run itself has added. */
static void choose_by(struct search *s, struct attempt *a, enum find_mode mode)
{
    static const char *const names[] = {"similar", "random", "coverage"};
    const struct task *t = a->state->task;
    struct rng rng;
    struct find_query q = {.mode = mode,
                           .task = t->id,
                           .task_hash = t->hash,
                           .vector = a->state->vector,
                           .ops = t->ops,
                           .rng = &rng,
                           .visible = a->visible};

    rng_init(&rng, "%lld/%s/%d/examples", (long long)s->opt.seed, t->id,
             a->number);
    a->retrieval = names[mode];
    a->hit_count = find_pick(archive_index(s->archive), &q, a->hit,
                             (size_t)s->opt.examples);
}

/* The place of the piece: where it or a twin of it is shown already, behind the
 * others, or in place of the last. */
static size_t choose_place(const struct search *s, const struct attempt *a,
                           int64_t entry)
{
    size_t most = (size_t)s->opt.examples;

    for (size_t i = 0; i < a->hit_count; i++)
        if (a->hit[i].entry == entry ||
            archive_are_twins(s->archive, a->hit[i].entry, entry))
            return i;
    return a->hit_count < most ? a->hit_count : most - 1;
}

/* A solved piece of the task: in the place of a twin if one is shown, else after the
 * others, or in place of the last. */
static void choose_piece(struct search *s, struct attempt *a)
{
    int64_t entry = state_piece(s, a->state, a->number, a->visible);
    size_t at;

    if (!entry || !s->opt.examples)
        return;
    at = choose_place(s, a, entry);
    if (at == a->hit_count || a->hit[at].entry != entry)
        a->hit[at] = (struct find_hit){entry, FIND_NO_COSINE};
    if (at == a->hit_count)
        a->hit_count++;
    a->piece_rank = at + 1;
}

void method_choose(struct search *s, struct attempt *a)
{
    s->method->choose(s, a);
    if (s->opt.piece_example)
        choose_piece(s, a);
}

/* ---- rounds ---- */

/* A round without tasks. */
static void round_begin(struct round *r, int iteration, int batch, int until,
                        size_t at_once)
{
    r->count = r->next = r->active = 0;
    r->iteration = iteration;
    r->batch = batch;
    r->until = until;
    r->at_once = at_once;
}

static bool round_takes(const struct search *s, const struct round *r,
                        const struct task_state *t)
{
    return !t->waiting && !t->skipped && !t->aside &&
           (!t->solved || s->opt.no_stop) &&
           t->finished_len < (size_t)s->opt.attempts &&
           t->finished_len + (size_t)t->late < (size_t)r->until;
}

/* Adds tasks from place `from` of the search's order on that have an attempt left in
 * this round, until it has `most` of them. All are of one depth, so that pieces have
 * joined the archive when tasks that need them begin; in eager order there is one
 * round. True when it has any. */
static bool round_fill(const struct search *s, struct round *r, size_t from,
                       size_t most)
{
    bool open = state_is_open(s);

    for (; from < s->task_len && r->count < most; from++) {
        size_t i = s->order[from];
        const struct task_state *t = &s->task[i];

        if (!round_takes(s, r, t) || (t->piece && !open))
            continue;
        if (r->count && !s->eager && t->depth != s->task[r->task[0]].depth)
            break;
        r->task = xgrow(r->task, &r->cap, r->count, sizeof(*r->task));
        r->task[r->count++] = i;
    }
    r->after = from;
    return r->count > 0;
}

/* A single round with all tasks of a depth: without pieces, there is no barrier before
 * the end. */
static bool round_single(struct search *s, struct round *r)
{
    size_t from = r->number == 1 ? 0 : r->after;

    round_begin(r, 0, 0, (int)s->opt.attempts,
                (size_t)(s->eager ? s->opt.batch : s->opt.slots));
    return round_fill(s, r, from, s->task_len);
}

/* ---- monkeys: in each iteration, one mini-batch of unsolved tasks after the other.
 * Solved kernels become examples for the batches that follow ---- */

static bool monkeys_batch(struct search *s, struct round *r)
{
    size_t batch_size = (size_t)s->opt.batch;
    size_t from = r->number == 1 ? 0 : r->after;
    int iteration = r->number == 1 ? 1 : r->iteration;
    int batch = r->number == 1 ? 1 : r->batch + 1;

    for (; iteration <= s->opt.attempts; iteration++, from = 0, batch = 1) {
        if (batch == 1)
            state_release_pieces(s, iteration);
        round_begin(r, iteration, batch, iteration, batch_size);
        if (round_fill(s, r, from, batch_size))
            return true;
    }
    return false;
}

static bool monkeys_round(struct search *s, struct round *r)
{
    return s->eager ? round_single(s, r) : monkeys_batch(s, r);
}

static void monkeys_choose(struct search *s, struct attempt *a)
{
    const char *by = s->opt.retrieval;
    enum find_mode mode = FIND_SIMILAR;

    if (strcmp(by, "coverage") == 0)
        mode = FIND_COVERAGE;
    else if (strcmp(by, "random") == 0 ||
             (strcmp(by, "alternating") == 0 && a->number % 2 == 0))
        mode = FIND_RANDOM;
    choose_by(s, a, mode);
}

static const struct method method_monkeys = {
    .name = "monkeys",
    .two_stage = true,
    .may_be_eager = true,
    .shows_run = true,
    .next_round = monkeys_round,
    .choose = monkeys_choose,
};

/* ---- sampling: attempts that know nothing of each other; refine: each is shown the one
 * before it, with its verdict; evolve: each task has a population of its own programs
 * ---- */

static const struct method method_sampling = {
    .name = "sampling",
    .two_stage = true,
    .next_round = round_single,
    .choose = choose_seeds,
};

static const struct method method_refine = {
    .name = "refine",
    .two_stage = true,
    .refines = true,
    .next_round = round_single,
    .choose = choose_seeds,
};

static const struct method method_evolve = {
    .name = "evolve",
    .evolves = true,
    .next_round = round_single,
    .choose = choose_seeds,
};

/* ---- combined: evolution in three phases. Solved kernels join the archive between
 * them ---- */

#define PHASES 3

/* A task that was stopped within a phase continues there. A phase without tasks
 * is skipped. With pieces, a phase has a round for each depth. */
static bool combined_phase(struct search *s, struct round *r)
{
    size_t from = r->number == 1 ? 0 : r->after;
    int phase = r->number == 1 ? 1 : r->batch;

    for (; phase <= PHASES; phase++, from = 0) {
        int64_t until = 0;

        for (int i = 0; i < phase; i++)
            until += s->opt.phase[i];
        round_begin(r, 0, phase, (int)until, (size_t)s->opt.slots);
        if (round_fill(s, r, from, s->task_len))
            return true;
    }
    return false;
}

/* The seeds in the first phase, then similar entries. The archive does not
 * change within a round, so neither does the choice. */
static void combined_choose(struct search *s, struct attempt *a)
{
    if (a->batch == 1)
        choose_seeds(s, a);
    else
        choose_by(s, a, FIND_SIMILAR);
}

static const struct method method_combined = {
    .name = "combined",
    .evolves = true,
    .shows_run = true,
    .next_round = combined_phase,
    .choose = combined_choose,
};

#define METHOD_POINTER(name) &method_##name,
#define METHOD_NAME(name)    #name,
static const struct method *const methods[] = {METHODS(METHOD_POINTER, ) NULL};
const char *const method_names[] = {METHODS(METHOD_NAME, ) NULL};

const struct method *method_find(const char *name)
{
    for (const struct method *const *m = methods; *m; m++)
        if (strcmp((*m)->name, name) == 0)
            return *m;
    return NULL;
}
