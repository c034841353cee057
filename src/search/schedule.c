/* schedule.c: rounds and slots: which tasks may begin, and when a round or the
 * run is over. One coroutine goes through the rounds; each slot is one that makes
 * attempts at its subject, one after the other. */
#include "base/mem.h"
#include "search/attempt.h"
#include "search/resume.h"

#include <stdlib.h>

/* ---- slots ---- */

/* A subject that is worked on. */
struct slot {
    struct search *s;
    struct subject *subject;
    struct co *co;
    struct slot *next;
};

static bool goes_on(const struct search *s, const struct subject *t)
{
    return !t->aside && (!t->solved || s->opt.no_stop) && t->left > 0 &&
           (!t->piece || course_is_open(s));
}

/* An attempt was added to the past of its subject. */
static void count_down(struct search *s, struct subject *t)
{
    t->left--;
    if (s->eager)
        entries_join_now(s, t);
}

/* The subject's next attempt: the stored one, or one that is made now. False: the
 * run stops. */
static bool next_attempt(struct search *s, struct subject *t)
{
    const struct past *p = resume_past(s->resume, t, t->past_len + 1);

    if (p) {
        state_apply(s, t, p);
        count_down(s, t);
        return true;
    }
    if (s->stopping)
        return false;
    switch (attempt_run(s, t)) {
    case ATTEMPT_DONE:
        count_down(s, t);
        break;
    case ATTEMPT_ASIDE:
        break;
    case ATTEMPT_NO_BUDGET:
        s->no_budget = true;
        state_stop(s);
        return false;
    case ATTEMPT_ABANDONED:
    case ATTEMPT_FAILED:
        return false;
    }
    schedule_check_end(s);
    if (s->watch)
        s->watch(s->watch_arg);
    return true;
}

static void slot_leave(struct slot *w)
{
    struct slot **at = &w->s->slot;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->s->round.active--;
    free(w);
}

/* In eager order a task queues again after each attempt. */
static void queue_again(struct search *s, const struct subject *t)
{
    struct round *r = &s->round;

    r->subject = xgrow(r->subject, &r->cap, r->count, sizeof(*r->subject));
    r->subject[r->count++] = (size_t)(t - s->subject);
}

static void slot_run(void *arg)
{
    struct slot *w = arg;
    struct search *s = w->s;
    struct subject *t = w->subject;
    bool made;

    do
        made = next_attempt(s, t);
    while (made && !s->eager && goes_on(s, t));
    slot_leave(w);
    if (made && s->eager && goes_on(s, t))
        queue_again(s, t);
    schedule_check_end(s);
    co_happen(&s->slot_left);
}

static void slot_start(struct search *s, struct subject *t)
{
    struct slot *w = xmalloc(sizeof(*w));
    struct co *co;

    *w = (struct slot){.s = s, .subject = t, .next = s->slot};
    s->slot = w;
    s->round.active++;
    if ((co = co_start(slot_run, w))) /* else `w` is gone */
        w->co = co;
}

/* ---- rounds ---- */

static int attempts_left(const struct search *s, const struct subject *t)
{
    int64_t until =
        s->round.until < s->opt.attempts ? s->round.until : s->opt.attempts;

    return (int)(until - t->late - (int64_t)t->past_len);
}

static bool fill_round(struct search *s)
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
    return r->count > 0;
}

/* Solved kernels join the archive between two rounds, and are on disk before the
 * next one begins. -1: the search ends. */
static int cross_barrier(struct search *s)
{
    size_t before = archive_size(s->archive);
    struct err e = ERR_INIT;

    s->barrier_version = archive_version(s->archive);
    entries_join_sealed(s);
    if (s->finished)
        return -1;
    if (fill_round(s) && s->looks && !s->eager &&
        !resume_looked(s->resume, (int64_t)s->round.number)) {
        s->looking = true;
        s->looked = (struct co_event){0};
        s->part.shared->look(s->part.shared->arg);
        if (co_wait(&s->looked) < 0)
            return -1;
    } else if (archive_size(s->archive) == before) {
        return 0;
    }
    if (store_wait(s->part.store, &e) == 0)
        return 0;
    state_fail(s, &e);
    return -1;
}

/* The subjects of the round, as slots become free. -1: the run stops before all of
 * them are done. */
static int work_through(struct search *s)
{
    struct round *r = &s->round;

    while (!s->finished && !s->stopping) {
        s->slot_left = (struct co_event){0};
        if (r->next < r->count && r->active < r->at_once)
            slot_start(s, &s->subject[r->subject[r->next++]]);
        else if (r->active == 0)
            return 0;
        else if (co_wait(&s->slot_left) < 0)
            return -1;
    }
    return -1;
}

static void run_rounds(void *arg)
{
    struct search *s = arg;
    int rc;

    do {
        s->at_barrier = true;
        rc = cross_barrier(s);
        s->at_barrier = false;
        s->rounds_over = rc == 0 && s->round.count == 0;
        if (rc == 0 && !s->rounds_over)
            rc = work_through(s);
    } while (rc == 0 && !s->rounds_over);
    s->rounds = NULL;
    schedule_check_end(s);
}

void schedule_start(struct search *s)
{
    struct co *co = co_start(run_rounds, s);

    if (co)
        s->rounds = co;
}

void schedule_looked(struct search *s, int64_t shared_version,
                     const struct search_example *x, size_t n)
{
    s->looking = false;
    entries_add_news(s, shared_version, x, n);
    co_happen(&s->looked);
}

/* What is left of the rounds ends after its slots: it would fill them again. */
void schedule_cancel(struct search *s)
{
    s->finished = true;
    while (s->slot)
        co_cancel(s->slot->co);
    if (s->rounds)
        co_cancel(s->rounds);
}

/* ---- the end ---- */

static void schedule_finish(struct search *s, enum search_end end)
{
    if (s->finished)
        return;
    s->finished = true;
    s->end = end;
    loop_stop(s->part.loop);
}

/* Whether all that is left waits for others: for their answers, or for budget
 * that only those can free. */
static bool only_waiting(struct search *s)
{
    size_t n = verifier_elsewhere(s->part.verifier, s->stopping > 0);

    if (s->opt.no_wait || s->stopping) /* answers come by a request's name */
        n += llm_waiting(s->part.llm);
    return n > 0 && n + ledger_parked(s->part.ledger) >= s->open_count;
}

void schedule_check_end(struct search *s)
{
    if (s->finished || (s->at_barrier && !(s->looking && s->stopping)))
        return;
    if (s->stopping >= 2) {
        schedule_finish(s, SEARCH_INTERRUPTED);
    } else if (s->open_count == 0 && s->stopping) {
        schedule_finish(s, s->worker_dead ? SEARCH_STUCK
                           : s->no_budget ? SEARCH_NO_BUDGET
                                          : SEARCH_INTERRUPTED);
    } else if (s->open_count == 0 && s->rounds_over) {
        schedule_finish(s, s->count.aside ? SEARCH_STUCK : SEARCH_DONE);
    } else if (s->open_count && only_waiting(s)) {
        schedule_finish(s, s->stopping && !s->no_budget ? SEARCH_INTERRUPTED
                                                        : SEARCH_WAITING);
    }
}
