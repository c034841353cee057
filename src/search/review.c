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
    struct llm_request request;
    struct row_call row;
    struct llm_call *call;
    struct str reply;
};

static void refuse(struct reading *g, const struct review *v);
static void ask(struct reading *g, const char *stage);

static void free_reading(struct reading *g)
{
    g->s->reviewing--;
    arena_release(&g->memory);
    free(g);
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
    json_object_set_new(a->record, "verdict", json_string("hack"));
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
    struct search *s = g->s;
    struct attempt *a = g->a;

    free_reading(g);
    if (a)
        result_store(a);
    else if (s->reviewing == 0)
        loop_stop(s->part.loop);
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

    if (e)
        schedule_fail(g->s, e);
    else if (g->call)
        llm_go(g->call);
}

static void on_reserved(struct llm_call *c, struct llm_cost total, void *arg)
{
    struct reading *g = arg;

    g->call = c;
    g->row.state = "open";
    g->row.reserved_usd_micro = total.usd_micro;
    g->row.reserved_tokens = total.tokens;
    store_call(g->s->part.store, &g->row);
    store_after(g->s->part.store, on_reservation_stored, g);
}

static void on_done(struct llm_call *c, const struct llm_reply *r, void *arg)
{
    struct reading *g = arg;
    struct search *s = g->s;
    char blob[HASH_HEX];

    (void)c;
    g->call = NULL;
    s->in_flight--;
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
        return;
    }
    /* nobody says that the kernel is bad */
    log_warn("%s: the reviewer did not answer (%s); the kernel stays",
             g->subject->task->id, r->error);
    store_event(s->part.store, "review", g->subject->ord, g->attempt, r->error);
    finish(g);
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

/* Nobody is asked any more: the kernel is judged and read when the run goes
 * on. */
static void drop(struct reading *g)
{
    struct search *s = g->s;
    struct attempt *a = g->a;

    free_reading(g);
    if (!a)
        return;
    s->round.active--;
    attempt_free(a);
    schedule_check_end(s);
}

static void ask(struct reading *g, const char *stage)
{
    static const struct llm_handlers handlers = {on_reserved, on_done};
    struct search *s = g->s;
    struct err e = ERR_INIT;

    g->stage = stage;
    if (take_stored_reply(g))
        return;
    if (s->stopping) {
        drop(g);
        return;
    }
    g->request = (struct llm_request){
        .key = {g->subject->task->id, s->method->name, stage, g->attempt},
        .message = g->prompt.message,
        .count = g->prompt.count};
    g->row = (struct row_call){
        .task = g->subject->ord,
        .attempt = g->attempt,
        .stage = stage,
        .try = call_tries(s, g->subject, g->attempt, stage) + 1,
        .prompt_hash = g->prompt.hash,
        .asked_at = call_now_us()};
    if (!llm_ask(s->part.llm, &g->request, &handlers, g, &e))
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
    if (review_build(s->part.prompts, &in, &g->memory, &g->prompt, e) < 0) {
        free_reading(g);
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
        strcmp(json_string_value(json_object_get(a->record, "verdict")),
               "correct") != 0)
        return false;
    g = begin(s, a->subject, a->number, a->code, &e);
    if (!g) {
        schedule_fail(s, &e);
        return true;
    }
    g->a = a;
    ask(g, "review");
    return true;
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

int review_all(struct search *s, enum search_end *end, struct err *e)
{
    struct buf code;

    buf_init(&code, BUF_UNLIMITED);
    for (size_t i = 0; i < s->subject_len; i++) {
        struct subject *t = &s->subject[i];
        struct reading *g;
        struct str text;

        if (!t->join_at)
            continue;
        buf_reset(&code);
        if (store_read_blob(s->part.store, t->past[t->join_at - 1].code, &code,
                            e) < 0)
            break;
        text = (struct str){buf_str(&code), code.len};
        g = begin(s, t, t->join_at, text, e);
        if (!g)
            break;
        ask(g, "review");
    }
    buf_release(&code);
    while (s->reviewing && s->failed.kind == ERR_NONE && s->stopping < 2)
        loop_run(s->part.loop);
    if (s->stopping)
        *end = SEARCH_INTERRUPTED;
    else if (s->failed.kind == ERR_NONE && e->kind == ERR_NONE)
        leave_refused(s);
    if (s->failed.kind != ERR_NONE)
        *e = s->failed;
    return e->kind == ERR_NONE ? 0 : -1;
}
