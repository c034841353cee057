/* ask.c: one stage of an attempt put to the model: from the store when it was
 * answered before, else reserved, stored, sent, answered, stored, used. */
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "prompt/extract.h"
#include "search/search_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t call_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void key_of(const struct subject *t, int attempt, const char *stage,
                   char out[128])
{
    snprintf(out, 128, "%lld/%d/%s", (long long)t->ord, attempt, stage);
}

int64_t call_tries(const struct search *s, const struct subject *t, int attempt,
                   const char *stage)
{
    char key[128];

    key_of(t, attempt, stage, key);
    return (intptr_t)map_get(&s->tries, str_of(key));
}

const struct kept_reply *call_kept(const struct search *s,
                                   const struct subject *t, int attempt,
                                   const char *stage)
{
    char key[128];

    key_of(t, attempt, stage, key);
    return map_get(&s->kept, str_of(key));
}

struct llm_cost call_held(struct search *s, const struct subject *t,
                          int attempt, const char *stage, bool forget)
{
    char key[128];
    struct kept_open *k;

    key_of(t, attempt, stage, key);
    k = map_get(&s->waiting, str_of(key));
    if (k && forget)
        k->held = (struct llm_cost){0};
    return k ? k->held : (struct llm_cost){0};
}

/* ---- the prompt ---- */

static int read_text(struct attempt *a, const char *blob, struct str *out,
                     struct err *e)
{
    struct buf b;
    int rc;

    *out = (struct str){"", 0};
    if (!blob[0])
        return 0;
    buf_init(&b, BUF_UNLIMITED);
    rc = store_read_blob(a->s->part.store, blob, &b, e);
    if (rc == 0)
        *out =
            (struct str){arena_strndup(&a->memory, buf_str(&b), b.len), b.len};
    buf_release(&b);
    return rc;
}

/* Attempt `number` of the same task as a prompt shows it; 0: the program it
 * all starts from. */
static int past_attempt(struct attempt *a, int number,
                        struct prompt_attempt *out, struct err *e)
{
    const struct task *t = a->subject->task;
    const struct past *p;

    *out = (struct prompt_attempt){.number = number};
    if (number == 0) {
        out->code = (struct str){t->source, t->len};
        out->verdict = verdicts[VERDICT_STATIC_REJECT].name;
        out->fitness = evolve_opts_paper.initial_fitness;
        out->feedback = STR_LIT("This is the PyTorch program itself: nothing "
                                "of it is written in the DSL yet.");
        return 0;
    }
    p = &a->subject->past[number - 1];
    out->verdict = verdicts[p->verdict].name;
    out->fitness = p->fitness;
    if (read_text(a, p->code, &out->code, e) < 0)
        return -1;
    return read_text(a, p->feedback, &out->feedback, e);
}

static int build_prompt(struct attempt *a, struct err *e)
{
    struct search *s = a->s;
    struct prompt_attempt *previous =
        arena_alloc(&a->memory, (MAX_HISTORY + 1) * sizeof(*previous));
    struct prompt_attempt parent;
    struct prompt_example example[MAX_EXAMPLES];
    struct prompt_input in = {
        .pack = s->part.pack,
        .no_card = s->opt.no_card,
        .task_id = a->subject->task->id,
        .task = {a->subject->task->source, a->subject->task->len},
        .task_hash = a->subject->source,
        .precision = s->opt.precision,
        .device = s->opt.device,
        .example = example,
        .example_count = a->hit_count,
        .previous = previous,
        .plan = a->plan,
        .plan_hash = a->plan_blob,
        .diff = s->opt.diff};

    in.stage = strcmp(a->stage, "plan") == 0   ? PROMPT_PLAN
               : strcmp(a->stage, "code") == 0 ? PROMPT_CODE
                                               : PROMPT_EVOLVE;
    for (size_t i = 0; i < a->hit_count; i++)
        example[i] = archive_example(s->archive, a->hit[i].entry);
    if (in.stage == PROMPT_EVOLVE) {
        if (past_attempt(a, a->parent, &parent, e) < 0)
            return -1;
        in.parent = &parent;
        for (size_t i = 0; i < a->other_count; i++)
            if (past_attempt(a, a->other[i], &previous[in.previous_count++],
                             e) < 0)
                return -1;
    } else if (a->parent) {
        if (past_attempt(a, a->parent, &previous[in.previous_count++], e) < 0)
            return -1;
    }
    return prompts_build(s->part.prompts, &in, &a->memory, &a->prompt, e);
}

/* A prompt is kept as the list of its parts; what many prompts share is a blob
 * of its own. */
static void store_prompt(struct attempt *a)
{
    struct store *st = a->s->part.store;
    const struct prompt *p = &a->prompt;

    for (size_t i = 0; i < p->pieces; i++)
        store_blob_as(st, p->piece[i].text, p->piece[i].hash);
    store_blob_as(st, p->list, p->hash);
}

/* ---- the call ---- */

static void send(struct attempt *a);

static void write_row(struct attempt *a)
{
    a->row.task = a->subject->ord;
    a->row.attempt = a->number;
    a->row.stage = a->stage;
    a->row.try = a->try;
    a->row.prompt = a->row.prompt_hash = a->prompt.hash;
    store_call(a->s->part.store, &a->row);
}

void call_go(struct search *s, struct llm_call *c, const struct err *e)
{
    if (e) {
        schedule_fail(s, e);
    } else if (c) {
        llm_go(c);
        if (s->stopping)
            llm_withdraw(c);
    }
}

static void on_reservation_stored(const struct err *e, void *arg)
{
    struct attempt *a = arg;

    call_go(a->s, a->call, e);
}

static void on_reserved(struct llm_call *c, struct llm_cost total, void *arg)
{
    struct attempt *a = arg;

    (void)c;
    call_held(a->s, a->subject, a->number, a->stage, true);
    a->row.state = "open";
    a->row.reserved_usd_micro = total.usd_micro;
    a->row.reserved_tokens = total.tokens;
    write_row(a);
    store_after(a->s->part.store, on_reservation_stored, a);
}

static void on_reply_stored(const struct err *e, void *arg)
{
    struct attempt *a = arg;

    if (e)
        schedule_fail(a->s, e);
    else
        attempt_replied(a);
}

void ask_park(struct attempt *a)
{
    a->next_parked = a->s->parked;
    a->s->parked = a;
}

/* Room may have come under the cap; or nobody may ask any more. */
void ask_unpark(struct search *s)
{
    struct attempt *list = s->parked, *next;

    s->parked = NULL;
    for (; list; list = next) {
        next = list->next_parked;
        if (s->stopping)
            attempt_abandon(list);
        else if (list->reading)
            review_again(list);
        else
            send(list);
    }
}

/* Calls that nothing was set aside for yet have cost nothing; neither have those
 * that wait for their turn, which their row says then. */
void ask_withdraw(struct search *s)
{
    struct attempt *next;

    for (struct attempt *a = s->open; a; a = next) {
        next = a->next;
        if (!a->call)
            continue;
        if (a->row.state) {
            llm_withdraw(a->call);
            continue;
        }
        s->in_flight--;
        attempt_abandon(a);
    }
}

static void call_failed(struct attempt *a, const struct llm_reply *r)
{
    struct search *s = a->s;

    store_event(s->part.store, "call", a->subject->ord, a->number, r->error);
    if (s->stopping) {
        attempt_abandon(a);
        schedule_check_end(s);
    } else if (r->outcome == LLM_REFUSED || ++a->failures >= CALL_FAILURES) {
        attempt_aside(a, r->error);
    } else {
        send(a);
    }
}

/* `row` borrows from the reply. */
void call_fill(struct row_call *row, const struct llm_reply *r)
{
    row->state = r->outcome == LLM_ANSWERED ? "answered" : "failed";
    row->finish = r->outcome == LLM_ANSWERED ? llm_finishes[r->finish] : NULL;
    row->error = r->error[0] ? r->error : NULL;
    row->input = r->usage.input;
    row->cached = r->usage.cached;
    row->output = r->usage.output;
    row->reasoning = r->usage.reasoning;
    row->estimated = r->usage.estimated;
    row->cost_usd_micro = r->cost.usd_micro;
    row->cost_tokens = r->cost.tokens;
    row->requests = r->requests;
    row->wall_us = r->wall_ns / 1000;
    row->answered_at = call_now_us();
}

static void store_reply(struct attempt *a, struct str text, char out[HASH_HEX])
{
    struct str plan = {NULL, 0};

    if (strcmp(a->stage, "plan") == 0)
        plan = extract_plan(text);
    if (plan.n && plan.p == text.p)
        hash_hex(plan.p, plan.n, a->plan_blob);
    hash_hex(text.p, text.n, out);
    store_blob_as(a->s->part.store,
                  (struct str){buf_str(&a->reply), a->reply.len}, out);
}

static void on_done(struct llm_call *c, const struct llm_reply *r, void *arg)
{
    struct attempt *a = arg;
    struct search *s = a->s;
    char reply[HASH_HEX], thought[HASH_HEX];

    (void)c;
    a->call = NULL;
    s->in_flight--;
    if (r->outcome == LLM_NO_BUDGET && r->requests == 0) {
        ask_park(a);
        schedule_check_end(s);
        return;
    }
    call_fill(&a->row, r);
    if (r->model.n)
        a->row.model = arena_strndup(&a->memory, r->model.p, r->model.n);
    if (r->outcome == LLM_ANSWERED) {
        buf_reset(&a->reply);
        buf_put(&a->reply, r->text.p, r->text.n);
        a->cut = r->finish == LLM_LENGTH;
        store_reply(a, r->text, reply);
        a->row.reply = reply;
        if (r->thought.n) {
            store_blob(s->part.store, r->thought, thought);
            a->row.thought = thought;
        }
    }
    write_row(a);
    a->row.error = NULL; /* borrowed from the reply */
    a->row.reply = a->row.thought = NULL;
    if (r->outcome == LLM_ANSWERED)
        store_after(s->part.store, on_reply_stored, a);
    else if (r->outcome == LLM_NO_BUDGET)
        ask_park(a);
    else
        call_failed(a, r);
    if (s->parked && !s->stopping)
        ask_unpark(s);
    schedule_check_end(s);
}

static void send(struct attempt *a)
{
    static const struct llm_handlers handlers = {on_reserved, on_done};
    struct search *s = a->s;
    struct err e = ERR_INIT;
    struct rng rng;

    rng_init(&rng, "%lld/%s/%d/%s", (long long)s->opt.seed,
             a->subject->task->id, a->number, a->stage);
    a->request = (struct llm_request){
        .key = {a->subject->task->id, s->method->name, a->stage, a->number},
        .message = a->prompt.message,
        .count = a->prompt.count,
        .seed = rng_next(&rng) >> 33, /* what every endpoint takes */
        .max_tokens = s->opt.max_tokens,
        .held = call_held(s, a->subject, a->number, a->stage, false)};
    a->try++;
    a->row = (struct row_call){.asked_at = call_now_us()};
    a->call = llm_ask(s->part.llm, &a->request, &handlers, a, &e);
    if (!a->call) {
        schedule_fail(s, &e);
        return;
    }
    s->in_flight++;
}

/* A reply that was stored before the program ended. */
static bool take_stored_reply(struct attempt *a)
{
    struct search *s = a->s;
    const struct kept_reply *k = call_kept(s, a->subject, a->number, a->stage);
    struct err e = ERR_INIT;

    if (!k)
        return false;
    buf_reset(&a->reply);
    if (store_read_blob(s->part.store, k->reply, &a->reply, &e) < 0) {
        schedule_fail(s, &e);
        return true;
    }
    a->cut = k->cut;
    attempt_replied(a);
    return true;
}

void ask_stage(struct attempt *a, const char *stage)
{
    struct search *s = a->s;
    struct err e = ERR_INIT;

    a->state = ASKING;
    a->stage = stage;
    a->failures = 0;
    if (take_stored_reply(a))
        return;
    if (s->stopping) {
        attempt_abandon(a);
        schedule_check_end(s);
        return;
    }
    if (build_prompt(a, &e) < 0) {
        schedule_fail(s, &e);
        return;
    }
    a->try = call_tries(s, a->subject, a->number, stage);
    store_prompt(a);
    send(a);
}
