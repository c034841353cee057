/* llm.c: the client of a model: which calls may go out, how their requests end, and
 * what each costs.
 *
 * A call that was sent cannot be taken back, and may be billed without an answer. So
 * money is reserved before a request is sent, for the most that it can cost; what was
 * lost on the way stays spent; and a repetition reserves anew. Reservation, rate and
 * breaker are asked in this order, each call in its turn, so that none overtakes
 * another to money that is short. It always takes the first of a list, so that
 * handlers may add or cancel calls.
 *
 * How many tokens a text has is estimated without anybody's vocabulary
 * (llm_estimate_tokens()). Limits on money never rest on that: they count bytes, since
 * no byte is more than one token. */
#include "llm/llm.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/tick.h"
#include "llm/cassette.h"
#include "llm/pace.h"
#include "llm/provider.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A call is in one list: `queued` until it has a slot, `funding` until money for its
 * next request is reserved, `ready` until that is sent, otherwise `away`: with the
 * caller, the provider, or a timer. */
struct call_list {
    struct llm_call *first, *last;
    size_t n;
};

struct llm_call {
    struct llm *llm;
    struct llm_call *next, *prev;
    struct call_list *list; /* NULL: it has ended and its handler runs */
    struct llm_request request;
    struct llm_handlers handlers;
    void *arg;
    struct llm_cost worst; /* of one request */
    struct llm_cost held;  /* reserved for the next or current request */
    struct llm_cost lost;  /* spent on requests without an answer */
    struct send *send;     /* in flight, or NULL */
    uint64_t timer;        /* of the back-off, or 0 */
    int64_t began_ns;      /* the first request */
    int64_t rated;         /* tokens counted toward the rate limit */
    int requests;
    bool told, test; /* waits for llm_go(); tests a closed connection */
};

struct llm {
    struct loop *loop;
    struct provider *provider;
    struct llm_rules rules;
    struct price price;
    struct budget *budget;
    struct call_list queued, funding, ready, away;
    size_t sent; /* with the provider */
    struct rate requests, tokens;
    struct backoff backoff;
    struct breaker breaker;
    char state[300]; /* for llm_state() */
    uint64_t pump_id, wake_id;
    int64_t wake_ns; /* when wake_id is due */
    struct cassette_writer *record;
    bool warned_estimate;
};

static void call_fail(struct llm_call *c, enum llm_outcome outcome,
                      const char *error);
static void call_on_result(void *arg, const struct send_result *r);
static void pump_soon(struct llm *l);
static void pump_in(struct llm *l, int64_t ns);

const char *const llm_outcomes[] = {"answered", "failed", "refused",
                                    "no_budget"};
const char *const llm_finishes[] = {"stop", "length", "filtered"};

const struct llm_rules llm_default_rules = {
    .backoff_base_ns = TICK_S,
    .backoff_cap_ns = 60 * TICK_S,
    .pause_after = 10,
    .pause_ns = 30 * TICK_S,
};

/* A tokenizer that falls back on bytes makes at most one token of each; what a
 * server's chat template puts around a message, and around all of them, is far
 * below these. */
#define TOKENS_AROUND_MESSAGE 64
#define TOKENS_AROUND_ALL     256
#define ANSWER_BYTES          4 /* of a token, on average */

struct llm *llm_new(struct loop *l, struct provider *p,
                    const struct llm_rules *rules, const struct price *price,
                    struct budget *budget)
{
    struct llm *m = xcalloc(1, sizeof(*m));

    if (rules->max_tokens <= 0)
        BUG("no limit on an answer's tokens");
    m->loop = l;
    m->provider = p;
    m->rules = *rules;
    m->price = *price;
    m->budget = budget;
    m->requests.per_minute = rules->requests_per_minute;
    m->tokens.per_minute = rules->tokens_per_minute;
    m->backoff.base_ns = rules->backoff_base_ns;
    m->backoff.cap_ns = rules->backoff_cap_ns;
    rng_init(&m->backoff.rng, "llm/backoff/%d", (int)getpid());
    m->breaker.after = rules->pause_after;
    m->breaker.pause_ns = rules->pause_ns;
    return m;
}

static void client_cancel_all(struct call_list *list)
{
    for (struct llm_call *c = list->first, *next; c; c = next) {
        next = c->next;
        llm_cancel(c);
    }
}

void llm_close(struct llm *l)
{
    if (!l)
        return;
    client_cancel_all(&l->queued);
    client_cancel_all(&l->funding);
    client_cancel_all(&l->ready);
    client_cancel_all(&l->away);
    loop_remove(l->loop, l->pump_id);
    loop_remove(l->loop, l->wake_id);
    provider_close(l->provider);
    cassette_writer_close(l->record);
    free(l);
}

/* ---- lists ---- */

static void call_take_out(struct llm_call *c)
{
    struct call_list *list = c->list;

    if (!list)
        return;
    *(c->prev ? &c->prev->next : &list->first) = c->next;
    *(c->next ? &c->next->prev : &list->last) = c->prev;
    list->n--;
    c->next = c->prev = NULL;
    c->list = NULL;
}

static void call_move(struct llm_call *c, struct call_list *to)
{
    call_take_out(c);
    if (!to)
        return;
    c->prev = to->last;
    *(to->last ? &to->last->next : &to->first) = c;
    to->last = c;
    to->n++;
    c->list = to;
}

/* ---- calls ---- */

static int client_check(const struct llm_request *r, struct err *e)
{
    const struct llm_key *k = &r->key;

    if (!k->task || !k->method || !k->stage || k->attempt < 1)
        return err_set(e, ERR_INPUT, "a request without a whole key");
    if (!r->count)
        return err_set(e, ERR_INPUT, "a request without a message");
    if (r->max_tokens < 0)
        return err_set(e, ERR_INPUT,
                       "an answer of a negative number of "
                       "tokens");
    for (size_t i = 0; i < r->count; i++) {
        const struct llm_message *m = &r->message[i];

        if (!m->role || m->shared > m->text.n)
            return err_set(e, ERR_INPUT, "message %zu is invalid", i + 1);
    }
    return 0;
}

struct llm_call *llm_ask(struct llm *l, const struct llm_request *r,
                         const struct llm_handlers *h, void *arg, struct err *e)
{
    struct llm_call *c;

    if (client_check(r, e) < 0)
        return NULL;
    c = xcalloc(1, sizeof(*c));
    c->llm = l;
    c->request = *r;
    c->handlers = *h;
    c->arg = arg;
    c->worst = llm_worst_case(l, r);
    call_move(c, &l->queued);
    pump_soon(l);
    return c;
}

void llm_go(struct llm_call *c)
{
    if (!c->told)
        BUG("a call that does not wait is told to go");
    c->told = false;
    call_move(c, &c->llm->ready);
    pump_soon(c->llm);
}

void llm_cancel(struct llm_call *c)
{
    struct llm *l = c->llm;

    if (!c->list) /* from its own handler */
        return;
    if (c->send) {
        l->provider->type->cancel(c->send);
        l->sent--;
        if (c->test)
            breaker_forget_test(&l->breaker, tick_now_ns());
    }
    loop_remove(l->loop, c->timer);
    l->budget->live = cost_sub(l->budget->live, c->held);
    call_move(c, NULL);
    free(c);
    pump_soon(l);
}

/* ---- figures ---- */

static int64_t call_input_bound(const struct llm_request *r)
{
    int64_t n = TOKENS_AROUND_ALL;

    for (size_t i = 0; i < r->count; i++)
        n += (int64_t)r->message[i].text.n + TOKENS_AROUND_MESSAGE;
    return n;
}

static int64_t call_max_tokens(const struct llm *l, const struct llm_request *r)
{
    return r->max_tokens ? r->max_tokens : l->rules.max_tokens;
}

struct llm_cost llm_worst_case(const struct llm *l, const struct llm_request *r)
{
    return price_worst(&l->price, call_input_bound(r), call_max_tokens(l, r));
}

struct llm_cost llm_worst_after_answer(const struct llm *l,
                                       const struct llm_request *r)
{
    int64_t most = call_max_tokens(l, r);

    return price_worst(&l->price, call_input_bound(r) + ANSWER_BYTES * most,
                       most);
}

size_t llm_pending(const struct llm *l)
{
    return l->queued.n + l->funding.n + l->ready.n + l->away.n;
}

/* With all requests in others' hands, calls without a slot or money can only
 * wait for those, too. */
size_t llm_waiting(const struct llm *l)
{
    const struct provider_type *t = l->provider->type;
    size_t n = t->waiting ? t->waiting(l->provider) : l->sent;

    if (!t->patient)
        return 0;
    if (n == 0 || n < l->away.n || l->ready.n || l->pump_id)
        return n;
    return llm_pending(l);
}

const char *llm_state(const struct llm *l)
{
    return l->state;
}

bool llm_is_priced(const struct llm *l)
{
    return l->price.known ? !price_is_free(&l->price)
                          : l->provider->type->priced;
}

bool llm_is_patient(const struct llm *l)
{
    return l->provider->type->patient;
}

bool llm_has_price(const struct llm *l)
{
    return l->price.known;
}

int llm_record(struct llm *l, const char *cassette, const char *secret,
               struct err *e)
{
    if (!cassette)
        return 0;
    cassette_writer_close(l->record);
    l->record = cassette_writer_open(cassette, l->rules.model, secret, e);
    return l->record ? 0 : -1;
}

/* Another client on the same budget may release money without notice. */
#define LOOK_AGAIN (100 * TICK_MS)

static bool pump_admit(struct llm *l)
{
    size_t slots = l->funding.n + l->ready.n + l->away.n;

    if (!l->queued.first ||
        (l->rules.in_flight > 0 && slots >= (size_t)l->rules.in_flight))
        return false;
    call_move(l->queued.first, &l->funding);
    return true;
}

/* Its earlier reservation is released in the same step, so that no other call
 * can take it. */
static bool pump_reserve(struct llm *l, struct llm_call *c)
{
    struct llm_cost *held = &c->request.held;

    budget_settle(l->budget, *held, (struct llm_cost){0});
    if (!budget_reserve(l->budget, c->worst)) {
        l->budget->reserved = cost_add(l->budget->reserved, *held);
        return false;
    }
    *held = (struct llm_cost){0};
    return true;
}

static bool pump_fund(struct llm *l)
{
    struct llm_call *c = l->funding.first;

    if (!c)
        return false;
    if (!pump_reserve(l, c)) {
        if (budget_may_fit(l->budget, cost_sub(c->worst, c->request.held))) {
            pump_in(l, LOOK_AGAIN);
            return false;
        }
        call_fail(c, LLM_NO_BUDGET, "the next request could exceed the budget");
        return true;
    }
    c->held = c->worst;
    l->budget->live = cost_add(l->budget->live, c->held);
    if (!c->handlers.reserved) {
        call_move(c, &l->ready);
        return true;
    }
    c->told = true;
    call_move(c, &l->away);
    c->handlers.reserved(c, cost_add(c->lost, c->held), c->arg);
    return true;
}

/* True when a request may go out; else it is looked at again in time. */
static bool pump_in_time(struct llm *l, int64_t now)
{
    int64_t wait = breaker_wait_ns(&l->breaker, now), rate;

    if (wait < 0)
        return false;
    rate = rate_wait_ns(&l->requests, now);
    wait = rate > wait ? rate : wait;
    rate = rate_wait_ns(&l->tokens, now);
    wait = rate > wait ? rate : wait;
    if (wait > 0)
        pump_in(l, wait);
    return wait == 0;
}

static int64_t pump_about(const struct llm *l, const struct llm_request *r)
{
    int64_t n = call_max_tokens(l, r);

    for (size_t i = 0; i < r->count; i++)
        n += llm_estimate_tokens(r->message[i].text);
    return n;
}

static bool pump_send(struct llm *l)
{
    struct llm_call *c = l->ready.first;
    int64_t now = tick_now_ns();
    struct err e = ERR_INIT;

    if (!c || !pump_in_time(l, now))
        return false;
    c->rated = l->tokens.per_minute > 0 ? pump_about(l, &c->request) : 0;
    rate_take(&l->requests, 1, now);
    rate_take(&l->tokens, c->rated, now);
    c->test = breaker_sent(&l->breaker);
    if (!c->requests++)
        c->began_ns = now;
    call_move(c, &l->away);
    l->sent++;
    c->send = l->provider->type->send(l->provider, &c->request, call_on_result,
                                      c, &e);
    if (!c->send)
        call_on_result(c, &(struct send_result){.outcome = e.kind == ERR_SYSTEM
                                                               ? SEND_RETRY
                                                               : SEND_REFUSED,
                                                .error = e.text});
    return true;
}

static void pump(struct llm *l)
{
    while (pump_admit(l) || pump_fund(l) || pump_send(l))
        ;
}

static void pump_on_soon(void *arg)
{
    struct llm *l = arg;

    l->pump_id = 0;
    pump(l);
}

static void pump_on_wake(void *arg)
{
    struct llm *l = arg;

    l->wake_id = 0;
    pump(l);
}

static void pump_soon(struct llm *l)
{
    if (!l->pump_id)
        l->pump_id = loop_defer(l->loop, pump_on_soon, l);
}

static void pump_in(struct llm *l, int64_t ns)
{
    int64_t at = tick_now_ns() + ns;

    if (l->wake_id && l->wake_ns <= at)
        return;
    loop_remove(l->loop, l->wake_id);
    l->wake_ns = at;
    l->wake_id = loop_add_timer(l->loop, at, pump_on_wake, l);
}

/* Replaces the reservation by the real cost. */
static void call_settle(struct llm_call *c, struct llm_cost real)
{
    struct budget *b = c->llm->budget;

    b->live = cost_sub(b->live, c->held);
    budget_settle(b, c->held, real);
    c->held = (struct llm_cost){0};
}

static void call_reply(struct llm_call *c, struct llm_reply *r)
{
    struct llm *l = c->llm;
    r->requests = c->requests;
    r->wall_ns = c->requests ? tick_now_ns() - c->began_ns : 0;
    call_move(c, NULL);
    c->handlers.done(c, r, c->arg);
    free(c);
    pump_soon(l);
}

static void call_fail(struct llm_call *c, enum llm_outcome outcome,
                      const char *error)
{
    struct llm_reply r = {.outcome = outcome,
                          .text = STR_LIT(""),
                          .thought = STR_LIT(""),
                          .model = STR_LIT(""),
                          .cost = c->lost,
                          .assumed = c->lost,
                          .error = error};

    call_settle(c, (struct llm_cost){0});
    call_reply(c, &r);
}

bool llm_withdraw(struct llm_call *c)
{
    if (c->send || c->told || llm_is_patient(c->llm))
        return false;
    loop_remove(c->llm->loop, c->timer);
    c->timer = 0;
    call_fail(c, LLM_FAILED,
              c->requests ? "withdrawn before it was sent again"
                          : "withdrawn before it was sent");
    return true;
}

/* ---- an answer ---- */

static int64_t call_within(int64_t v, int64_t most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

static struct llm_usage call_estimate(const struct llm_call *c,
                                      const struct send_result *r)
{
    const struct llm_request *q = &c->request;
    struct llm_usage u = {.estimated = true};

    for (size_t i = 0; i < q->count; i++)
        u.input += llm_estimate_tokens(q->message[i].text);
    u.reasoning = llm_estimate_tokens(r->thought);
    u.output = llm_estimate_tokens(r->text) + u.reasoning;
    u.output = call_within(u.output, call_max_tokens(c->llm, q));
    u.reasoning = call_within(u.reasoning, u.output);
    return u;
}

/* What the provider reported, made consistent. */
static struct llm_usage call_reported(const struct send_result *r)
{
    struct llm_usage u = r->usage;

    u.input = call_within(u.input, INT64_MAX);
    u.output = call_within(u.output, INT64_MAX);
    u.cached = call_within(u.cached, u.input);
    u.written = call_within(u.written, u.input - u.cached);
    u.reasoning = call_within(u.reasoning, u.output);
    return u;
}

/* Without reported usage, the worst case is charged. */
static struct llm_cost call_charge(struct llm_call *c,
                                   const struct send_result *r,
                                   struct llm_usage *u)
{
    struct llm *l = c->llm;
    struct llm_cost real;

    if (r->usage.estimated && !r->usage.input && !r->usage.output) {
        *u = call_estimate(c, r);
        return llm_is_priced(l) ? c->held : price_of(&l->price, u);
    }
    *u = call_reported(r);
    real = price_of(&l->price, u);
    if ((real.usd_micro > c->held.usd_micro || real.tokens > c->held.tokens) &&
        !l->warned_estimate) {
        l->warned_estimate = true;
        log_warn("the provider counted %lld input and %lld output tokens; at "
                 "most %lld and %lld were expected, so the budget may be "
                 "exceeded by the difference",
                 (long long)u->input, (long long)u->output,
                 (long long)call_input_bound(&c->request),
                 (long long)call_max_tokens(l, &c->request));
    }
    return real;
}

static void call_record(struct llm_call *c, const struct send_result *r,
                        const struct llm_usage *u)
{
    struct send_result full = *r;
    struct err e = ERR_INIT;

    if (!c->llm->record)
        return;
    full.usage = *u;
    if (cassette_write(c->llm->record, &c->request, &full, &e) == 0)
        return;
    log_warn("%s; recording stops", e.text);
    cassette_writer_close(c->llm->record);
    c->llm->record = NULL;
}

/* A missing text is empty, not NULL. */
static struct str call_present(struct str s)
{
    return s.p ? s : STR_LIT("");
}

static void call_answered(struct llm_call *c, const struct send_result *r)
{
    struct llm_reply reply = {.outcome = LLM_ANSWERED,
                              .finish = r->finish,
                              .text = call_present(r->text),
                              .thought = call_present(r->thought),
                              .model = call_present(r->model),
                              .error = ""};
    struct llm_cost real = call_charge(c, r, &reply.usage);

    rate_take(&c->llm->tokens,
              reply.usage.input + reply.usage.output - c->rated, tick_now_ns());
    call_record(c, r, &reply.usage);
    call_settle(c, real);
    reply.cost = cost_add(c->lost, real);
    reply.assumed = reply.usage.estimated ? reply.cost : c->lost;
    call_reply(c, &reply);
}

/* ---- no answer ---- */

static void call_on_backoff(void *arg)
{
    struct llm_call *c = arg;
    struct llm *l = c->llm;

    c->timer = 0;
    call_move(c, c->held.tokens ? &l->ready : &l->funding);
    pump_soon(l);
}

static void call_again(struct llm_call *c, const struct send_result *r)
{
    struct llm *l = c->llm;
    int64_t wait;
    char *why;

    if (c->requests > l->rules.retries) {
        why = xasprintf("%s (after %d request%s)", r->error, c->requests,
                        c->requests == 1 ? "" : "s");
        call_fail(c, LLM_FAILED, why);
        free(why);
        return;
    }
    wait = backoff_ns(&l->backoff, c->requests, r->retry_after_ns);
    c->timer =
        loop_add_timer(l->loop, tick_now_ns() + wait, call_on_backoff, c);
    pump_soon(l);
}

/* Updates the breaker and reports its changes. */
static void call_note(struct llm_call *c, const struct send_result *r)
{
    struct llm *l = c->llm;
    int64_t now = tick_now_ns();
    bool failed = r->outcome == SEND_RETRY || r->outcome == SEND_LOST;

    if (!failed) {
        if (breaker_good(&l->breaker))
            log_info("the model is answering again");
        l->state[0] = '\0';
        return;
    }
    if (!breaker_bad(&l->breaker, c->test, now, r->retry_after_ns))
        return;
    snprintf(l->state, sizeof(l->state), "paused for %lld s: %s",
             (long long)((l->breaker.until_ns - now + TICK_S - 1) / TICK_S),
             r->error);
    log_warn("%s (%d consecutive failures)", l->state, l->breaker.failures);
}

static void call_not_answered(struct llm_call *c, const struct send_result *r)
{
    switch (r->outcome) {
    case SEND_LOST: /* the provider may bill it */
        c->lost = cost_add(c->lost, c->held);
        call_settle(c, c->held);
        call_again(c, r);
        return;
    case SEND_RETRY:
        rate_take(&c->llm->tokens, -c->rated, tick_now_ns());
        call_again(c, r);
        return;
    case SEND_REFUSED:
        rate_take(&c->llm->tokens, -c->rated, tick_now_ns());
        call_fail(c, LLM_REFUSED, r->error);
        return;
    case SEND_ANSWERED:
        break;
    }
    BUG("outcome %d", r->outcome);
}

static void call_on_result(void *arg, const struct send_result *r)
{
    struct llm_call *c = arg;
    struct send_result masked = *r;
    /* From here on every text is safe to show and store. */
    char *error = secret_mask(r->error ? r->error : "");

    masked.error = error;
    c->send = NULL;
    c->llm->sent--;
    call_note(c, &masked);
    c->test = false;
    if (r->outcome == SEND_ANSWERED)
        call_answered(c, r);
    else
        call_not_answered(c, &masked);
    free(error);
}

#define ONES  0x0101010101010101u /* a byte's lowest bit in each */
#define EVENS 0x00ff00ff00ff00ffu
#define STRIDE \
    (255 * sizeof(uint64_t)) /* what a count in a byte has room for */

/* Counts bytes outside ASCII, a word at a time. */
static size_t tokens_wide(const char *p, size_t n)
{
    uint64_t counts = 0, eight;

    for (size_t i = 0; i < n; i += sizeof(eight)) {
        memcpy(&eight, p + i, sizeof(eight));
        counts += eight >> 7 & ONES;
    }
    counts = (counts & EVENS) + (counts >> 8 & EVENS);
    return (size_t)(counts * 0x0001000100010001u >> 48);
}

int64_t llm_estimate_tokens(struct str text)
{
    size_t wide = 0, i = 0, whole = text.n - text.n % sizeof(uint64_t);

    for (; i < whole; i += STRIDE)
        wide +=
            tokens_wide(text.p + i, whole - i < STRIDE ? whole - i : STRIDE);
    for (i = whole; i < text.n; i++)
        wide += (unsigned char)text.p[i] >= 0x80;
    return (int64_t)(((text.n - wide) * 2 + 6) / 7 + (wide + 1) / 2);
}
