/* schedule.c: rounds and slots: which tasks may begin, and when a round or the
 * run is over. */
#include "base/mem.h"
#include "search/attempt.h"
#include "search/resume.h"

static void finish(struct search *s, enum search_end end)
{
    if (s->finished)
        return;
    s->finished = true;
    s->end = end;
    loop_stop(s->part.loop);
}

/* ---- rounds ---- */

static int attempts_left(const struct search *s, const struct subject *t)
{
    int64_t until =
        s->round.until < s->opt.attempts ? s->round.until : s->opt.attempts;

    return (int)(until - t->late - (int64_t)t->past_len);
}

static enum schedule_state next_round(struct search *s)
{
    struct round *r = &s->round;

    r->number++;
    if (!s->method->next_round(s, r))
        r->count = r->next = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct subject *t = &s->subject[r->subject[i]];

        t->left = attempts_left(s, t);
    }
    s->count.iteration = r->iteration;
    return r->count ? SCHEDULE_ROUNDS : SCHEDULE_OVER;
}

static void on_barrier_stored(const struct err *e, void *arg)
{
    struct search *s = arg;

    if (e) {
        state_fail(s, e);
        return;
    }
    s->state = s->round.count ? SCHEDULE_ROUNDS : SCHEDULE_OVER;
    schedule_pump(s);
}

/* Solved kernels join the archive between two rounds. */
static void end_round(struct search *s)
{
    size_t before = archive_size(s->archive);

    s->barrier_version = archive_version(s->archive);
    entries_join_sealed(s);
    if (s->finished)
        return;
    s->state = next_round(s);
    if (s->looks && !s->eager && s->state == SCHEDULE_ROUNDS &&
        !resume_looked(s->resume, (int64_t)s->round.number)) {
        s->state = SCHEDULE_BARRIER;
        s->looking = true;
        s->part.shared->look(s->part.shared->arg);
    } else if (archive_size(s->archive) != before) {
        s->state = SCHEDULE_BARRIER;
        store_after(s->part.store, on_barrier_stored, s);
    }
}

void schedule_looked(struct search *s, int64_t shared_version,
                     const struct search_example *x, size_t n)
{
    s->looking = false;
    entries_add_news(s, shared_version, x, n);
    store_after(s->part.store, on_barrier_stored, s);
}

/* ---- slots ---- */

static bool goes_on(const struct search *s, const struct subject *t)
{
    return !t->aside && (!t->solved || s->opt.no_stop) && t->left > 0 &&
           (!t->piece || course_is_open(s));
}

/* In eager order a task queues again after each attempt. */
static void leave_slot(struct search *s, struct subject *t)
{
    struct round *r = &s->round;

    r->active--;
    if (!s->eager || !goes_on(s, t))
        return;
    r->subject = xgrow(r->subject, &r->cap, r->count, sizeof(*r->subject));
    r->subject[r->count++] = (size_t)(t - s->subject);
}

/* An attempt was added to the past of its subject. */
static void count_down(struct search *s, struct subject *t)
{
    t->left--;
    if (s->eager)
        entries_join_now(s, t);
}

static void on_attempt_over(struct search *s, struct subject *t,
                            enum attempt_end end);

/* The subject has a slot: takes its stored attempts, then makes the first that
 * is missing. */
static void begin(struct search *s, struct subject *t)
{
    const struct past *p;

    while ((p = resume_past(s->resume, t, t->past_len + 1))) {
        state_apply(s, t, p);
        count_down(s, t);
        if (s->eager || !goes_on(s, t)) {
            leave_slot(s, t);
            return;
        }
    }
    if (s->stopping)
        s->round.active--;
    else
        attempt_start(s, t, on_attempt_over);
}

void schedule_pump(struct search *s)
{
    struct round *r = &s->round;

    while (!s->finished && !s->stopping && s->state == SCHEDULE_ROUNDS) {
        if (r->next < r->count) {
            if (r->active >= r->at_once)
                break;
            r->active++;
            begin(s, &s->subject[r->subject[r->next++]]);
        } else if (r->active == 0) {
            end_round(s);
        } else {
            break;
        }
    }
    schedule_check_end(s);
}

static void on_attempt_over(struct search *s, struct subject *t,
                            enum attempt_end end)
{
    switch (end) {
    case ATTEMPT_DONE:
        count_down(s, t);
        break;
    case ATTEMPT_ASIDE:
        break;
    case ATTEMPT_NO_BUDGET:
        s->no_budget = true;
        s->round.active--;
        state_stop(s);
        schedule_check_end(s);
        return;
    case ATTEMPT_ABANDONED:
        s->round.active--;
        schedule_check_end(s);
        return;
    }
    if (goes_on(s, t) && !s->eager)
        begin(s, t);
    else
        leave_slot(s, t);
    if (s->watch)
        s->watch(s->watch_arg);
    schedule_pump(s);
}

/* ---- the end ---- */

/* Whether all that is left waits for others: for their answers, or for budget
 * that only those can free. */
static bool only_waiting(struct search *s)
{
    size_t n = door_elsewhere(s->part.door, s->stopping > 0);

    if (s->opt.no_wait || s->stopping) /* answers come by a request's name */
        n += llm_waiting(s->part.llm);
    return n > 0 && n + ledger_parked(s->part.ledger) >= s->open_count;
}

void schedule_check_end(struct search *s)
{
    if (s->finished ||
        (s->state == SCHEDULE_BARRIER && !(s->looking && s->stopping)))
        return;
    if (s->stopping >= 2) {
        finish(s, SEARCH_INTERRUPTED);
    } else if (s->open_count == 0 && s->stopping) {
        finish(s, s->worker_dead ? SEARCH_STUCK
                  : s->no_budget ? SEARCH_NO_BUDGET
                                 : SEARCH_INTERRUPTED);
    } else if (s->open_count == 0 && s->state == SCHEDULE_OVER) {
        finish(s, s->count.aside ? SEARCH_STUCK : SEARCH_DONE);
    } else if (s->open_count && only_waiting(s)) {
        finish(s, s->stopping && !s->no_budget ? SEARCH_INTERRUPTED
                                               : SEARCH_WAITING);
    }
}
