/* search.c: a run as a whole. */
#include "search/search.h"

#include "base/mem.h"
#include "base/tick.h"
#include "search/attempt.h"
#include "search/resume.h"
#include "search/reviewer.h"

#include <stdlib.h>
#include <string.h>

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
    state_release_subjects(s);
    free(s->round.subject);
    archive_free(s->archive);
    loop_remove(s->part.loop, s->timer);
    free(s);
}

void search_add_task(struct search *s, const struct task *t,
                     const char *skipped, const float *vector)
{
    if (s->subject_len && s->subject[s->subject_len - 1].piece)
        BUG("%s: a task after a piece", t->id);
    state_add_subject(s, t, skipped, vector, NULL);
    s->count.tasks++;
}

void search_add_piece(struct search *s, const struct task *t,
                      const char *skipped, const float *vector,
                      const struct search_piece *p)
{
    state_add_subject(s, t, skipped, vector, p);
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
    if (s->finished || !s->looks)
        return;
    if (s->eager)
        entries_add_news(s, shared_version, x, n);
    else if (s->looking)
        schedule_looked(s, shared_version, x, n);
}

/* Nothing happens while all wait for others, so a timer looks for the end,
 * too. */
static void on_timer(void *arg)
{
    struct search *s = arg;

    s->timer =
        loop_add_timer(s->part.loop, tick_now_ns() + LOOK_NS, on_timer, s);
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
static int on_recheck(const struct row_recheck *r, void *arg)
{
    archive_rechecked(arg, r->problem, r->solution,
                      !verdict_may_join(r->verdict, r->evidence));
    return 0;
}

int search_run(struct search *s, enum search_end *end, struct err *e)
{
    s->count.iterations = (int)s->opt.attempts;
    if (store_each_recheck(s->part.store, on_recheck, s->archive, e) != 0)
        return -1;
    archive_hide_retired(s->archive);
    course_begin(s);
    s->resume = resume_load(s, e);
    if (!s->resume)
        return -1;
    if (strcmp(s->opt.reviewer, "off") != 0 &&
        !(s->reviewer = open_reviewer(s, e)))
        return -1;
    for (size_t i = 0; i < s->subject_len; i++)
        s->count.skipped += !s->subject[i].piece && s->subject[i].skipped;
    on_timer(s);
    schedule_start(s);
    while (!s->finished)
        loop_run(s->part.loop);
    *end = s->end;
    if (s->failed.kind != ERR_NONE) {
        *e = s->failed;
        return -1;
    }
    if (s->end == SEARCH_DONE && strcmp(s->opt.reviewer, "end") == 0)
        return review_end(s, end, e);
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
    for (size_t i = 0; i < s->subject_len; i++) {
        const struct subject *t = &s->subject[i];

        c.pieces += t->piece && !t->skipped && !t->waiting;
        c.over += !t->piece && !t->skipped &&
                  (t->aside || (t->solved && !s->opt.no_stop) ||
                   t->past_len >= (size_t)s->opt.attempts);
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
