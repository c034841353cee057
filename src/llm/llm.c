/* llm.c: calls: asked, let go, forgotten. */
#include "llm/llm.h"

#include "base/mem.h"
#include "base/tick.h"
#include "llm/front_int.h"
#include "llm/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void cancel_all(struct call_list *list)
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
    cancel_all(&l->queued);
    cancel_all(&l->funding);
    cancel_all(&l->ready);
    cancel_all(&l->away);
    loop_remove(l->loop, l->pump_id);
    loop_remove(l->loop, l->wake_id);
    l->provider->type->close(l->provider);
    cassette_writer_close(l->record);
    free(l);
}

/* ---- lists ---- */

static void take_out(struct llm_call *c)
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

void call_move(struct llm_call *c, struct call_list *to)
{
    take_out(c);
    if (!to)
        return;
    c->prev = to->last;
    *(to->last ? &to->last->next : &to->first) = c;
    to->last = c;
    to->n++;
    c->list = to;
}

/* ---- calls ---- */

static int check(const struct llm_request *r, struct err *e)
{
    const struct llm_key *k = &r->key;

    if (!k->task || !k->method || !k->stage || k->attempt < 1)
        return err_set(e, ERR_INPUT, "a request without a whole key");
    if (!r->count)
        return err_set(e, ERR_INPUT, "a request without a message");
    if (r->max_tokens < 0)
        return err_set(e, ERR_INPUT, "an answer of less than no tokens");
    for (size_t i = 0; i < r->count; i++) {
        const struct llm_message *m = &r->message[i];

        if (!m->role || m->shared > m->text.n)
            return err_set(e, ERR_INPUT, "message %zu makes no sense", i + 1);
    }
    return 0;
}

struct llm_call *llm_ask(struct llm *l, const struct llm_request *r,
                         const struct llm_handlers *h, void *arg, struct err *e)
{
    struct llm_call *c;

    if (check(r, e) < 0)
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
        if (c->probe)
            breaker_forget_probe(&l->breaker, tick_now_ns());
    }
    loop_remove(l->loop, c->timer);
    l->budget->live = cost_sub(l->budget->live, c->held);
    call_move(c, NULL);
    free(c);
    pump_soon(l);
}

/* ---- figures ---- */

int64_t call_input_bound(const struct llm_request *r)
{
    int64_t n = TOKENS_AROUND_ALL;

    for (size_t i = 0; i < r->count; i++)
        n += (int64_t)r->message[i].text.n + TOKENS_AROUND_MESSAGE;
    return n;
}

int64_t call_max_tokens(const struct llm *l, const struct llm_request *r)
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
