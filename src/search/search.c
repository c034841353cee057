/* search.c: a run as a whole. */
#include "search/search.h"

#include "base/mem.h"
#include "base/tick.h"
#include "search/search_int.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_NS (200 * TICK_MS) /* how often the end is looked for */

struct search *search_new(const struct search_parts *p,
                          const struct search_opts *o)
{
    struct search *s = xcalloc(1, sizeof(*s));

    s->part = *p;
    s->opt = *o;
    for (s->method = methods; s->method->name; s->method++)
        if (strcmp(s->method->name, o->method) == 0)
            break;
    if (!s->method->name)
        BUG("no method %s", o->method);
    if (o->examples > MAX_EXAMPLES || o->history > MAX_HISTORY)
        BUG("%lld examples", (long long)o->examples);
    s->archive = archive_new(p->dim);
    map_init(&s->kept);
    map_init(&s->tries);
    map_init(&s->waiting);
    map_init(&s->verdicts);
    map_init(&s->reviews);
    return s;
}

static void free_values(struct map *m)
{
    for (size_t i = 0; i < m->len; i++)
        free(m->items[i].value);
    map_release(m);
}

void search_free(struct search *s)
{
    while (s->open)
        attempt_free(s->open);
    while (s->readings)
        review_drop(s->readings);
    for (size_t i = 0; i < s->subject_len; i++) {
        struct subject *t = &s->subject[i];

        free(t->skipped);
        free(t->vector);
        free(t->past);
        free(t->kept);
        free(t->refused);
        if (t->db)
            evolve_db_free(t->db);
    }
    free(s->subject);
    free(s->round.subject);
    free(s->entry);
    archive_free(s->archive);
    free_values(&s->kept);
    free_values(&s->waiting);
    free_values(&s->verdicts);
    map_release(&s->reviews);
    map_release(&s->tries);
    loop_remove(s->part.loop, s->timer);
    free(s);
}

static void start_programs(struct search *s, struct subject *t)
{
    struct evolve_opts o = evolve_opts_paper;

    o.islands = (size_t)s->opt.islands;
    o.history_k = o.num_top = (size_t)s->opt.history;
    t->db = evolve_db_new(&o, t->task->source);
}

void search_add_task(struct search *s, const struct task *t,
                     const char *skipped, const float *vector)
{
    struct subject *x;

    s->subject =
        xgrow(s->subject, &s->subject_cap, s->subject_len, sizeof(*s->subject));
    x = &s->subject[s->subject_len];
    *x = (struct subject){.task = t, .ord = (int64_t)s->subject_len++};
    hash_hex(t->source, t->len, x->source);
    x->skipped = skipped ? xstrdup(skipped) : NULL;
    x->vector = xmalloc(s->part.dim * sizeof(*vector));
    memcpy(x->vector, vector, s->part.dim * sizeof(*vector));
    if (s->method->evolves)
        start_programs(s, x);
}

void search_add_example(struct search *s, const struct search_example *x)
{
    char problem[HASH_HEX], plan[HASH_HEX], solution[HASH_HEX];
    struct row_entry row = {.version = 1,
                            .origin = x->origin,
                            .task = -1,
                            .name = x->name,
                            .task_hash = x->task_hash,
                            .problem = problem,
                            .plan = x->plan.p ? plan : NULL,
                            .solution = solution,
                            .evidence = x->evidence};

    row.entry = archive_join(s->archive, x, 1);
    store_blob(s->part.store, x->problem, problem);
    if (x->plan.p)
        store_blob(s->part.store, x->plan, plan);
    store_blob(s->part.store, x->solution, solution);
    store_entry(s->part.store, &row);
}

/* Waiting for others makes no event, so the end is also looked for in turns. */
static void on_timer(void *arg)
{
    struct search *s = arg;

    s->timer =
        loop_add_timer(s->part.loop, tick_now_ns() + LOOK_NS, on_timer, s);
    if (s->watch)
        s->watch(s->watch_arg);
    schedule_check_end(s);
    review_check_end(s);
}

int search_run(struct search *s, enum search_end *end, struct err *e)
{
    s->count.tasks = s->subject_len;
    s->count.iterations = (int)s->opt.attempts;
    if (resume_load(s, e) < 0)
        return -1;
    for (size_t i = 0; i < s->subject_len; i++)
        s->count.skipped += s->subject[i].skipped != NULL;
    on_timer(s);
    schedule_pump(s);
    while (!s->finished)
        loop_run(s->part.loop);
    *end = s->end;
    if (s->failed.kind != ERR_NONE) {
        *e = s->failed;
        return -1;
    }
    if (s->end == SEARCH_DONE && strcmp(s->opt.reviewer, "end") == 0)
        return review_all(s, end, e);
    return 0;
}

void search_stop(struct search *s)
{
    s->stopping++;
    if (s->parked)
        ask_unpark(s);
    ask_withdraw(s);
    review_withdraw(s);
    schedule_check_end(s);
    if (s->stopping >= 2)
        loop_stop(s->part.loop);
}

void search_watch(struct search *s, void (*fn)(void *arg), void *arg)
{
    s->watch = fn;
    s->watch_arg = arg;
}

struct search_counts search_count(const struct search *s)
{
    struct search_counts c = s->count;

    c.open = s->open_count;
    c.calls_in_flight = s->in_flight;
    for (size_t i = 0; i < s->subject_len; i++) {
        const struct subject *t = &s->subject[i];
        bool over = t->skipped || t->aside || (t->solved && !s->opt.no_stop);

        c.work += (uint64_t)s->opt.attempts;
        c.work_done += over ? (uint64_t)s->opt.attempts : t->past_len;
    }
    return c;
}

void search_describe(const struct search *s, struct buf *out)
{
    struct search_counts c = search_count(s);

    buf_printf(out, "solved %zu/%zu", c.solved, c.tasks - c.skipped);
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
