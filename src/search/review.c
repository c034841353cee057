/* review.c: the reviewer: a model reads a correct kernel and says whether it
 * earned that. What it said is in the store before it counts, so that it is
 * never paid for twice. */
#include "prompt/review.h"

#include "base/log.h"
#include "base/mem.h"
#include "prompt/ask.h"
#include "search/search_int.h"

#include <stdlib.h>
#include <string.h>

/* One kernel being read. */
struct reading {
    struct search *s;
    struct attempt *a; /* NULL: the run is over, `subject` is read */
    struct subject *subject;
    int attempt;
    struct arena memory;
    struct prompt prompt;
    char key[HASH_HEX];
    const char *stage; /* "review", "review-repair" */
    int64_t try;
    int failures;
    struct llm_request request;
    struct row_call row;
    struct llm_call *call;
    struct str reply;
    struct reading *prev, *next; /* all that are under way */
};

static void refuse(struct reading *g, const struct review *v);
static void ask(struct reading *g, const char *stage);

void review_drop(struct reading *g)
{
    struct search *s = g->s;

    if (g->prev)
        g->prev->next = g->next;
    else
        s->readings = g->next;
    if (g->next)
        g->next->prev = g->prev;
    s->reviewing--;
    if (g->a)
        g->a->reading = NULL;
    if (g->call)
        llm_cancel(g->call);
    arena_release(&g->memory);
    free(g);
}

/* One less to wait for when the run is over. */
static void drop_at_end(struct reading *g)
{
    struct search *s = g->s;

    review_drop(g);
    if (s->reviewing == 0)
        loop_stop(s->part.loop);
}

/* ---- what it means ---- */

/* In the loop a kernel that did not earn it is an attempt like any other that
 * failed: the next one hears why. */
static void refuse_attempt(struct attempt *a, const struct review *v)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    buf_puts(&b, "The outputs are right, but a reviewer read the kernel and "
                 "refused it:\n");
    for (size_t i = 0; i < v->reason_count && b.len < 3000; i++)
        buf_printf(&b, "- %s\n", v->reason[i]);
    json_object_set_new(a->record, "verdict",
                        json_string(verdicts[VERDICT_HACK].name));
    json_object_set_new(a->record, "rule", json_string("reviewer"));
    json_object_set_new(a->record, "feedback", jsn_text(buf_str(&b), b.len));
    buf_release(&b);
}

static void refuse(struct reading *g, const struct review *v)
{
    struct search *s = g->s;
    struct subject *t = g->subject;
    char text[128];

    snprintf(text, sizeof(text), "score %.2f is below %.2f", v->score,
             s->opt.threshold);
    log_info("%s: the reviewer refuses attempt %d: %s", t->task->id, g->attempt,
             text);
    store_event(s->part.store, "review", t->ord, g->attempt, text);
    s->count.doubted++;
    if (g->a)
        refuse_attempt(g->a, v);
    else
        t->refused = xstrdup(text);
}

/* The reading is over: its attempt goes on. */
static void finish(struct reading *g)
{
    struct attempt *a = g->a;

    if (!a) {
        drop_at_end(g);
        return;
    }
    review_drop(g);
    result_store(a);
}

/* Nobody may ask any more: the kernel is read when the run goes on. */
static void give_up(struct reading *g)
{
    if (g->a)
        attempt_abandon(g->a);
    else
        drop_at_end(g);
}

/* A kernel that cannot be paid for is not one that passed. */
static void no_room(struct reading *g)
{
    if (g->a) {
        ask_park(g->a);
        return;
    }
    g->s->no_budget = true;
    drop_at_end(g);
}

static void conclude(struct reading *g, const struct review *v)
{
    if (v->score < g->s->opt.threshold)
        refuse(g, v);
    finish(g);
}

/* ---- asking ---- */

/* Of kernels that are the same, with the same task, the first is kept. */
static void keep(struct reading *g, double score)
{
    struct search *s = g->s;
    char blob[HASH_HEX];
    struct row_review row = {.hash = g->key, .score = score, .reply = blob};

    if (map_get(&s->reviews, str_of(g->key)))
        return;
    store_blob(s->part.store, g->reply, blob);
    store_review(s->part.store, &row);
    map_set(&s->reviews, str_of(g->key), s);
}

static void on_kept(const struct err *e, void *arg)
{
    struct reading *g = arg;
    struct search *s = g->s;
    struct review v;
    struct err why = ERR_INIT;

    if (e) {
        schedule_fail(s, e);
        return;
    }
    if (review_parse(g->reply, &g->memory, &v, &why) < 0) {
        if (strcmp(g->stage, "review") == 0) {
            prompts_repair(s->part.prompts, g->reply, review_shape, why.text,
                           &g->memory, &g->prompt);
            ask(g, "review-repair");
            return;
        }
        log_warn("%s: the reviewer's answer cannot be read (%s); the kernel "
                 "stays",
                 g->subject->task->id, why.text);
        store_event(s->part.store, "review", g->subject->ord, g->attempt,
                    why.text);
        finish(g);
        return;
    }
    keep(g, v.score);
    conclude(g, &v);
}

static void on_reservation_stored(const struct err *e, void *arg)
{
    struct reading *g = arg;

    call_go(g->s, g->call, e);
}

static void on_reserved(struct llm_call *c, struct llm_cost total, void *arg)
{
    struct reading *g = arg;

    (void)c;
    call_held(g->s, g->subject, g->attempt, g->stage, true);
    g->row.state = "open";
    g->row.reserved_usd_micro = total.usd_micro;
    g->row.reserved_tokens = total.tokens;
    store_call(g->s->part.store, &g->row);
    store_after(g->s->part.store, on_reservation_stored, g);
}

static void on_failure(struct reading *g, const struct llm_reply *r)
{
    struct search *s = g->s;

    if (r->outcome == LLM_NO_BUDGET) {
        no_room(g);
        return;
    }
    if (r->outcome == LLM_FAILED &&
        (s->stopping || ++g->failures < CALL_FAILURES)) {
        ask(g, g->stage);
        return;
    }
    /* nobody says that the kernel is bad */
    log_warn("%s: the reviewer did not answer (%s); the kernel stays",
             g->subject->task->id, r->error);
    store_event(s->part.store, "review", g->subject->ord, g->attempt, r->error);
    finish(g);
}

static void on_done(struct llm_call *c, const struct llm_reply *r, void *arg)
{
    struct reading *g = arg;
    struct search *s = g->s;
    char blob[HASH_HEX];

    (void)c;
    g->call = NULL;
    s->in_flight--;
    if (r->outcome == LLM_NO_BUDGET && r->requests == 0) {
        no_room(g);
        schedule_check_end(s);
        return;
    }
    call_fill(&g->row, r);
    if (r->outcome == LLM_ANSWERED) {
        store_blob(s->part.store, r->text, blob);
        g->row.reply = blob;
    }
    store_call(s->part.store, &g->row);
    if (r->outcome == LLM_ANSWERED) {
        g->reply = (struct str){arena_strndup(&g->memory, r->text.p, r->text.n),
                                r->text.n};
        store_after(s->part.store, on_kept, g);
    } else {
        on_failure(g, r);
    }
    if (s->parked && !s->stopping)
        ask_unpark(s);
    schedule_check_end(s);
}

/* A reply that was stored before the program ended. */
static bool take_stored_reply(struct reading *g)
{
    struct search *s = g->s;
    const struct kept_reply *k = call_kept(s, g->subject, g->attempt, g->stage);
    struct err e = ERR_INIT;
    struct buf b;

    if (!k)
        return false;
    buf_init(&b, BUF_UNLIMITED);
    if (store_read_blob(s->part.store, k->reply, &b, &e) < 0) {
        schedule_fail(s, &e);
    } else {
        g->reply =
            (struct str){arena_strndup(&g->memory, buf_str(&b), b.len), b.len};
        on_kept(NULL, g);
    }
    buf_release(&b);
    return true;
}

static void ask(struct reading *g, const char *stage)
{
    static const struct llm_handlers handlers = {on_reserved, on_done};
    struct search *s = g->s;
    struct err e = ERR_INIT;

    if (g->stage != stage)
        g->try = call_tries(s, g->subject, g->attempt, stage);
    g->stage = stage;
    if (take_stored_reply(g))
        return;
    if (s->stopping) {
        give_up(g);
        schedule_check_end(s);
        return;
    }
    g->request = (struct llm_request){
        .key = {g->subject->task->id, s->method->name, stage, g->attempt},
        .message = g->prompt.message,
        .count = g->prompt.count,
        .held = call_held(s, g->subject, g->attempt, stage, false)};
    g->row = (struct row_call){.task = g->subject->ord,
                               .attempt = g->attempt,
                               .stage = stage,
                               .try = ++g->try,
                               .prompt_hash = g->prompt.hash,
                               .asked_at = call_now_us()};
    g->call = llm_ask(s->part.llm, &g->request, &handlers, g, &e);
    if (!g->call)
        schedule_fail(s, &e);
    else
        s->in_flight++;
}

static struct reading *begin(struct search *s, struct subject *t, int attempt,
                             struct str code, struct err *e)
{
    struct reading *g = xcalloc(1, sizeof(*g));
    struct review_input in = {.pack = s->part.pack,
                              .task = {t->task->source, t->task->len},
                              .solution = code,
                              .precision = s->opt.precision};

    g->s = s;
    g->subject = t;
    g->attempt = attempt;
    arena_init(&g->memory);
    s->reviewing++;
    g->next = s->readings;
    if (g->next)
        g->next->prev = g;
    s->readings = g;
    if (review_build(s->part.prompts, &in, &g->memory, &g->prompt, e) < 0) {
        review_drop(g);
        return NULL;
    }
    review_key(s->part.model ? s->part.model : "", &g->prompt, g->key);
    return g;
}

/* ---- in the loop, and at the end ---- */

bool review_begin(struct attempt *a)
{
    struct search *s = a->s;
    struct err e = ERR_INIT;
    struct reading *g;

    if (strcmp(s->opt.reviewer, "loop") != 0 ||
        verdict_in(a->record) != VERDICT_CORRECT)
        return false;
    g = begin(s, a->subject, a->number, a->code, &e);
    if (!g) {
        schedule_fail(s, &e);
        return true;
    }
    g->a = a;
    a->reading = g;
    ask(g, "review");
    return true;
}

void review_again(struct attempt *a)
{
    ask(a->reading, a->reading->stage);
}

void review_withdraw(struct search *s)
{
    struct reading *next;

    for (struct reading *g = s->readings; g; g = next) {
        next = g->next;
        if (!g->call)
            continue;
        if (g->row.state) {
            llm_withdraw(g->call);
            continue;
        }
        s->in_flight--;
        give_up(g);
    }
}

void review_check_end(struct search *s)
{
    if (!s->finished || !s->reviewing || (!s->opt.no_wait && !s->stopping) ||
        llm_waiting(s->part.llm) < s->reviewing)
        return;
    s->reviews_wait = true;
    loop_stop(s->part.loop);
}

/* All at once, so that nothing depends on who was read first. */
static void leave_refused(struct search *s)
{
    int64_t version = archive_version(s->archive) + 1;

    for (size_t i = 0; i < s->subject_len; i++) {
        const struct subject *t = &s->subject[i];

        if (!t->refused || !t->joined)
            continue;
        archive_leave(s->archive, t->entry, version);
        store_entry_leaves(s->part.store, t->entry, version, t->refused);
    }
}

static int ask_all(struct search *s, struct err *e)
{
    struct buf code;
    int rc = 0;

    buf_init(&code, BUF_UNLIMITED);
    for (size_t i = 0; rc == 0 && i < s->subject_len; i++) {
        struct subject *t = &s->subject[i];
        struct reading *g = NULL;

        if (!t->join_at)
            continue;
        buf_reset(&code);
        if (store_read_blob(s->part.store, t->past[t->join_at - 1].code, &code,
                            e) == 0)
            g = begin(s, t, t->join_at, (struct str){buf_str(&code), code.len},
                      e);
        if (g)
            ask(g, "review");
        rc = g ? 0 : -1;
    }
    buf_release(&code);
    return rc;
}

int review_all(struct search *s, enum search_end *end, struct err *e)
{
    if (ask_all(s, e) < 0)
        return -1;
    while (s->reviewing && s->failed.kind == ERR_NONE && s->stopping < 2 &&
           !s->reviews_wait)
        loop_run(s->part.loop);
    if (s->failed.kind != ERR_NONE) {
        *e = s->failed;
        return -1;
    }
    if (s->stopping)
        *end = SEARCH_INTERRUPTED;
    else if (s->reviewing)
        *end = SEARCH_WAITING;
    else if (s->no_budget)
        *end = SEARCH_NO_BUDGET;
    else
        leave_refused(s);
    return 0;
}
