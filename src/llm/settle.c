/* settle.c: how a request ended, what it cost, and whether another follows. */
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/tick.h"
#include "llm/front_int.h"
#include "llm/options.h"

#include <stdlib.h>

/* Replaces the reservation by the real cost. */
static void settle(struct llm_call *c, struct llm_cost real)
{
    struct budget *b = c->llm->budget;

    b->live = cost_sub(b->live, c->held);
    budget_settle(b, c->held, real);
    c->held = (struct llm_cost){0};
}

static void end(struct llm_call *c, struct llm_reply *r)
{
    struct llm *l = c->llm;
    r->requests = c->requests;
    r->wall_ns = c->requests ? tick_now_ns() - c->began_ns : 0;
    call_move(c, NULL);
    c->handlers.done(c, r, c->arg);
    free(c);
    pump_soon(l);
}

void call_finish(struct llm_call *c, enum llm_outcome outcome,
                 const char *error)
{
    struct llm_reply r = {.outcome = outcome,
                          .text = STR_LIT(""),
                          .thought = STR_LIT(""),
                          .model = STR_LIT(""),
                          .cost = c->lost,
                          .assumed = c->lost,
                          .error = error};

    settle(c, (struct llm_cost){0});
    end(c, &r);
}

bool llm_withdraw(struct llm_call *c)
{
    if (c->send || c->told || llm_is_patient(c->llm))
        return false;
    loop_remove(c->llm->loop, c->timer);
    c->timer = 0;
    call_finish(c, LLM_FAILED,
                c->requests ? "withdrawn before it was sent again"
                            : "withdrawn before it was sent");
    return true;
}

/* ---- an answer ---- */

static int64_t within(int64_t v, int64_t most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

static struct llm_usage estimate(const struct llm_call *c,
                                 const struct send_result *r)
{
    const struct llm_request *q = &c->request;
    struct llm_usage u = {.estimated = true};

    for (size_t i = 0; i < q->count; i++)
        u.input += llm_estimate_tokens(q->message[i].text);
    u.reasoning = llm_estimate_tokens(r->thought);
    u.output = llm_estimate_tokens(r->text) + u.reasoning;
    u.output = within(u.output, call_max_tokens(c->llm, q));
    u.reasoning = within(u.reasoning, u.output);
    return u;
}

/* What the provider reported, made consistent. */
static struct llm_usage reported(const struct send_result *r)
{
    struct llm_usage u = r->usage;

    u.input = within(u.input, INT64_MAX);
    u.output = within(u.output, INT64_MAX);
    u.cached = within(u.cached, u.input);
    u.written = within(u.written, u.input - u.cached);
    u.reasoning = within(u.reasoning, u.output);
    return u;
}

/* Without reported usage, the worst case is charged. */
static struct llm_cost charge(struct llm_call *c, const struct send_result *r,
                              struct llm_usage *u)
{
    struct llm *l = c->llm;
    struct llm_cost real;

    if (r->usage.estimated && !r->usage.input && !r->usage.output) {
        *u = estimate(c, r);
        return llm_is_priced(l) ? c->held : price_of(&l->price, u);
    }
    *u = reported(r);
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

static void record(struct llm_call *c, const struct send_result *r,
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
static struct str present(struct str s)
{
    return s.p ? s : STR_LIT("");
}

static void answered(struct llm_call *c, const struct send_result *r)
{
    struct llm_reply reply = {.outcome = LLM_ANSWERED,
                              .finish = r->finish,
                              .text = present(r->text),
                              .thought = present(r->thought),
                              .model = present(r->model),
                              .error = ""};
    struct llm_cost real = charge(c, r, &reply.usage);

    rate_take(&c->llm->tokens,
              reply.usage.input + reply.usage.output - c->rated, tick_now_ns());
    record(c, r, &reply.usage);
    settle(c, real);
    reply.cost = cost_add(c->lost, real);
    reply.assumed = reply.usage.estimated ? reply.cost : c->lost;
    end(c, &reply);
}

/* ---- no answer ---- */

static void on_backoff(void *arg)
{
    struct llm_call *c = arg;
    struct llm *l = c->llm;

    c->timer = 0;
    call_move(c, c->held.tokens ? &l->ready : &l->funding);
    pump_soon(l);
}

static void again(struct llm_call *c, const struct send_result *r)
{
    struct llm *l = c->llm;
    int64_t wait;
    char *why;

    if (c->requests > l->rules.retries) {
        why = xasprintf("%s (after %d request%s)", r->error, c->requests,
                        c->requests == 1 ? "" : "s");
        call_finish(c, LLM_FAILED, why);
        free(why);
        return;
    }
    wait = backoff_ns(&l->backoff, c->requests, r->retry_after_ns);
    c->timer = loop_add_timer(l->loop, tick_now_ns() + wait, on_backoff, c);
    pump_soon(l);
}

/* Updates the breaker and reports its changes. */
static void note(struct llm_call *c, const struct send_result *r)
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
    if (!breaker_bad(&l->breaker, c->probe, now, r->retry_after_ns))
        return;
    snprintf(l->state, sizeof(l->state), "paused for %lld s: %s",
             (long long)((l->breaker.until_ns - now + TICK_S - 1) / TICK_S),
             r->error);
    log_warn("%s (%d consecutive failures)", l->state, l->breaker.failures);
}

static void not_answered(struct llm_call *c, const struct send_result *r)
{
    switch (r->outcome) {
    case SEND_LOST: /* the provider may bill it */
        c->lost = cost_add(c->lost, c->held);
        settle(c, c->held);
        again(c, r);
        return;
    case SEND_RETRY:
        rate_take(&c->llm->tokens, -c->rated, tick_now_ns());
        again(c, r);
        return;
    case SEND_REFUSED:
        rate_take(&c->llm->tokens, -c->rated, tick_now_ns());
        call_finish(c, LLM_REFUSED, r->error);
        return;
    case SEND_ANSWERED:
        break;
    }
    BUG("outcome %d", r->outcome);
}

void call_ended(void *arg, const struct send_result *r)
{
    struct llm_call *c = arg;
    struct send_result masked = *r;
    /* From here on every text is safe to show and store. */
    char *error = secret_mask(r->error ? r->error : "");

    masked.error = error;
    c->send = NULL;
    c->llm->sent--;
    note(c, &masked);
    c->probe = false;
    if (r->outcome == SEND_ANSWERED)
        answered(c, r);
    else
        not_answered(c, &masked);
    free(error);
}
