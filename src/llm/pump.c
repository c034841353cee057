/* pump.c: decides what may be sent: free slots, money, rate limits. It always
 * takes the first of a list, so that calls stay in order and handlers may add
 * or cancel calls. */
#include "base/tick.h"
#include "llm/front_int.h"

/* Another client on the same budget may release money without notice. */
#define LOOK_AGAIN (100 * TICK_MS)

static bool admit(struct llm *l)
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
static bool reserve(struct llm *l, struct llm_call *c)
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

static bool fund(struct llm *l)
{
    struct llm_call *c = l->funding.first;

    if (!c)
        return false;
    if (!reserve(l, c)) {
        if (budget_may_fit(l->budget, cost_sub(c->worst, c->request.held))) {
            pump_in(l, LOOK_AGAIN);
            return false;
        }
        call_finish(c, LLM_NO_BUDGET,
                    "the next request could exceed the budget");
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
static bool in_time(struct llm *l, int64_t now)
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

static int64_t about(const struct llm *l, const struct llm_request *r)
{
    int64_t n = call_max_tokens(l, r);

    for (size_t i = 0; i < r->count; i++)
        n += llm_estimate_tokens(r->message[i].text);
    return n;
}

static bool dispatch(struct llm *l)
{
    struct llm_call *c = l->ready.first;
    int64_t now = tick_now_ns();
    struct err e = ERR_INIT;

    if (!c || !in_time(l, now))
        return false;
    c->rated = l->tokens.per_minute > 0 ? about(l, &c->request) : 0;
    rate_take(&l->requests, 1, now);
    rate_take(&l->tokens, c->rated, now);
    c->probe = breaker_sent(&l->breaker);
    if (!c->requests++)
        c->began_ns = now;
    call_move(c, &l->away);
    l->sent++;
    c->send =
        l->provider->type->send(l->provider, &c->request, call_ended, c, &e);
    if (!c->send)
        call_ended(c, &(struct send_result){.outcome = e.kind == ERR_SYSTEM
                                                           ? SEND_RETRY
                                                           : SEND_REFUSED,
                                            .error = e.text});
    return true;
}

static void pump(struct llm *l)
{
    while (admit(l) || fund(l) || dispatch(l))
        ;
}

static void on_soon(void *arg)
{
    struct llm *l = arg;

    l->pump_id = 0;
    pump(l);
}

static void on_wake(void *arg)
{
    struct llm *l = arg;

    l->wake_id = 0;
    pump(l);
}

void pump_soon(struct llm *l)
{
    if (!l->pump_id)
        l->pump_id = loop_defer(l->loop, on_soon, l);
}

void pump_in(struct llm *l, int64_t ns)
{
    int64_t at = tick_now_ns() + ns;

    if (l->wake_id && l->wake_ns <= at)
        return;
    loop_remove(l->loop, l->wake_id);
    l->wake_ns = at;
    l->wake_id = loop_add_timer(l->loop, at, on_wake, l);
}
