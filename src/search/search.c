/* search.c: rounds and slots: which tasks may begin, and when a round or the run is
 * over; then the search as a whole. One coroutine goes through the rounds; each slot is
 * one that makes attempts at its task, one after the other.
 *
 * A run that continues goes through the same rounds again, and takes from the store
 * what is there: there is no state of the schedule that could be stored wrongly or be
 * out of step with the rows. So a round may depend only on what the rounds before it
 * have decided, not on the order in which replies come; a barrier makes sure of that. */
#include "search/search.h"

#include "base/mem.h"
#include "base/tick.h"
#include "search/attempt.h"
#include "search/resume.h"
#include "search/reviewer.h"

#include <stdlib.h>
#include <string.h>

/* ---- the end ---- */

static void schedule_finish(struct search *s, enum search_end end)
{
    if (s->ended)
        return;
    s->ended = true;
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

/* Ends the search if nothing is left to do, or only others can continue it
 * (SEARCH_WAITING). */
static void schedule_check_end(struct search *s)
{
    if (s->ended || (s->at_barrier && !(s->looking && s->stopping)))
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

/* ---- slots ---- */

/* A task that is worked on. */
struct slot {
    struct search *s;
    struct task_state *state;
    struct co *co;
    struct slot *next;
};

static bool goes_on(const struct search *s, const struct task_state *t)
{
    return !t->aside && (!t->solved || s->opt.no_stop) && t->left > 0 &&
           (!t->piece || state_is_open(s));
}

/* An attempt was added to the finished ones of its task. */
static void count_down(struct search *s, struct task_state *t)
{
    t->left--;
    if (s->eager)
        entries_join_now(s, t);
}

/* The task's next attempt: the stored one, or one that is made now. False: the
 * run stops. */
static bool next_attempt(struct search *s, struct task_state *t)
{
    const struct finished *p =
        resume_finished(s->resume, t, t->finished_len + 1);

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
static void queue_again(struct search *s, const struct task_state *t)
{
    struct round *r = &s->round;

    r->task = xgrow(r->task, &r->cap, r->count, sizeof(*r->task));
    r->task[r->count++] = (size_t)(t - s->task);
}

static void slot_run(void *arg)
{
    struct slot *w = arg;
    struct search *s = w->s;
    struct task_state *t = w->state;
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

static void slot_start(struct search *s, struct task_state *t)
{
    struct slot *w = xmalloc(sizeof(*w));
    struct co *co;

    *w = (struct slot){.s = s, .state = t, .next = s->slot};
    s->slot = w;
    s->round.active++;
    if ((co = co_start(slot_run, w))) /* else `w` is gone */
        w->co = co;
}

/* ---- rounds ---- */

static int attempts_left(const struct search *s, const struct task_state *t)
{
    int64_t until =
        s->round.until < s->opt.attempts ? s->round.until : s->opt.attempts;

    return (int)(until - t->late - (int64_t)t->finished_len);
}

static bool fill_round(struct search *s)
{
    struct round *r = &s->round;

    r->number++;
    if (!s->method->next_round(s, r))
        r->count = r->next = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct task_state *t = &s->task[r->task[i]];

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
    entries_join_at_barrier(s);
    if (s->ended)
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

/* The tasks of the round, as slots become free. -1: the run stops before all of
 * them are done. */
static int work_through(struct search *s)
{
    struct round *r = &s->round;

    while (!s->ended && !s->stopping) {
        s->slot_left = (struct co_event){0};
        if (r->next < r->count && r->active < r->at_once)
            slot_start(s, &s->task[r->task[r->next++]]);
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

static void schedule_start(struct search *s)
{
    struct co *co = co_start(run_rounds, s);

    if (co)
        s->rounds = co;
}

/* Strict order: the answer to a look at the shared archive. */
static void schedule_looked(struct search *s, int64_t shared_version,
                            const struct search_example *x, size_t n)
{
    s->looking = false;
    entries_add_news(s, shared_version, x, n);
    co_happen(&s->looked);
}

/* What is left of the rounds ends after its slots: it would fill them again. */
static void schedule_cancel(struct search *s)
{
    s->ended = true;
    while (s->slot)
        co_cancel(s->slot->co);
    if (s->rounds)
        co_cancel(s->rounds);
}

/* ---- the search as a whole ---- */

#define LOOK_NS (200 * TICK_MS) /* how often the end is looked for */

struct search *search_new(const struct search_parts *p,
                          const struct search_opts *o)
{
    struct search *s = xcalloc(1, sizeof(*s));

    s->part = *p;
    s->opt = *o;
    s->method = method_find(o->method);
    if (!s->method)
        BUG("no method %s", o->method);
    if (o->examples > MAX_EXAMPLES || o->history > MAX_HISTORY)
        BUG("%lld examples", (long long)o->examples);
    s->eager = s->method->may_be_eager && strcmp(o->order, "eager") == 0;
    s->looks = p->shared && p->shared->embed && s->method->shows_run;
    s->archive = archive_new(p->dim);
    return s;
}

void search_free(struct search *s)
{
    schedule_cancel(s);
    reviewer_free(s->reviewer);
    resume_free(s->resume);
    state_release_tasks(s);
    free(s->round.task);
    archive_free(s->archive);
    loop_remove(s->part.loop, s->timer);
    free(s);
}

void search_add_task(struct search *s, const struct task *t,
                     const char *skipped, const float *vector)
{
    if (s->task_len && s->task[s->task_len - 1].piece)
        BUG("%s: a task after a piece", t->id);
    state_add_task(s, t, skipped, vector, NULL);
    s->count.tasks++;
}

void search_add_piece(struct search *s, const struct task *t,
                      const char *skipped, const float *vector,
                      const struct search_piece *p)
{
    state_add_task(s, t, skipped, vector, p);
}

void search_add_example(struct search *s, const struct search_example *x)
{
    entries_add(s, x, 1);
}

void search_add_look(struct search *s, int64_t shared_version)
{
    struct row_look look = {.look = ++s->look_count,
                            .shared_version = shared_version,
                            .version = 1};

    store_look(s->part.store, &look);
}

size_t search_archive_size(const struct search *s)
{
    return archive_size(s->archive);
}

bool search_takes_news(const struct search *s)
{
    return s->looks;
}

bool search_is_eager(const struct search *s)
{
    return s->eager;
}

void search_news(struct search *s, int64_t shared_version,
                 const struct search_example *x, size_t n)
{
    if (s->ended || !s->looks)
        return;
    if (s->eager)
        entries_add_news(s, shared_version, x, n);
    else if (s->looking)
        schedule_looked(s, shared_version, x, n);
}

/* Nothing happens while all wait for others, so a timer looks for the end,
 * too. */
static void search_timer(void *arg)
{
    struct search *s = arg;

    s->timer =
        loop_add_timer(s->part.loop, tick_now_ns() + LOOK_NS, search_timer, s);
    if (s->watch)
        s->watch(s->watch_arg);
    schedule_check_end(s);
}

static struct reviewer *open_reviewer(struct search *s, struct err *e)
{
    struct reviewer_parts p = {.ledger = s->part.ledger,
                               .store = s->part.store,
                               .llm = s->part.llm,
                               .prompts = s->part.prompts,
                               .pack = s->part.pack,
                               .model = s->part.model,
                               .method = s->method->name,
                               .precision = s->opt.precision,
                               .threshold = s->opt.threshold};

    return reviewer_new(&p, e);
}

/* Rows come pass by pass. */
static int on_recheck(const void *row, void *arg)
{
    const struct row_recheck *r = row;

    archive_rechecked(arg, r->problem, r->solution,
                      !verdict_may_join(r->verdict, r->evidence));
    return 0;
}

int search_run(struct search *s, enum search_end *end, struct err *e)
{
    s->count.iterations = (int)s->opt.attempts;
    if (store_each(s->part.store, STORE_RECHECKS, on_recheck, s->archive, e) !=
        0)
        return -1;
    archive_hide_retired(s->archive);
    state_order(s);
    s->resume = resume_load(s, e);
    if (!s->resume)
        return -1;
    if (strcmp(s->opt.reviewer, "off") != 0 &&
        !(s->reviewer = open_reviewer(s, e)))
        return -1;
    for (size_t i = 0; i < s->task_len; i++)
        s->count.skipped += !s->task[i].piece && s->task[i].skipped;
    search_timer(s);
    schedule_start(s);
    while (!s->ended)
        loop_run(s->part.loop);
    *end = s->end;
    if (s->failed.kind != ERR_NONE) {
        *e = s->failed;
        return -1;
    }
    if (s->end == SEARCH_DONE && strcmp(s->opt.reviewer, "end") == 0)
        return reviewer_finish(s, end, e);
    return 0;
}

void search_stop(struct search *s)
{
    bool again = s->stopping > 0;

    state_stop(s);
    if (again)
        s->stopping = 2;
    schedule_check_end(s);
    if (again)
        loop_stop(s->part.loop);
}

void search_watch(struct search *s, void (*fn)(void *arg), void *arg)
{
    s->watch = fn;
    s->watch_arg = arg;
}

struct llm_cost search_need(const struct search *s)
{
    return s->need;
}

struct search_counts search_count(const struct search *s)
{
    struct search_counts c = s->count;

    c.open = s->open_count;
    c.calls_in_flight = ledger_in_flight(s->part.ledger);
    for (size_t i = 0; i < s->task_len; i++) {
        const struct task_state *t = &s->task[i];

        c.pieces += t->piece && !t->skipped && !t->waiting;
        c.over += !t->piece && !t->skipped &&
                  (t->aside || (t->solved && !s->opt.no_stop) ||
                   t->finished_len >= (size_t)s->opt.attempts);
    }
    return c;
}

void search_describe(const struct search *s, struct buf *out)
{
    struct search_counts c = search_count(s);

    buf_printf(out, "solved %zu/%zu", c.solved, c.tasks - c.skipped);
    if (c.pieces)
        buf_printf(out, ", pieces %zu/%zu", c.pieces_solved, c.pieces);
    if (c.iteration)
        buf_printf(out, ", iteration %d/%d", c.iteration, c.iterations);
    buf_printf(out, ", %zu attempt%s, %zu call%s in flight", c.attempts,
               c.attempts == 1 ? "" : "s", c.calls_in_flight,
               c.calls_in_flight == 1 ? "" : "s");
    for (enum verdict i = VERDICT_CORRECT + 1; i < VERDICTS; i++)
        if (c.verdict[i])
            buf_printf(out, ", %zu %s", c.verdict[i], verdicts[i].name);
    if (s->part.budget->spent.usd_micro)
        buf_printf(out, ", $%.4f",
                   (double)s->part.budget->spent.usd_micro / 1e6);
    if (llm_state(s->part.llm)[0])
        buf_printf(out, ", %s", llm_state(s->part.llm));
}
