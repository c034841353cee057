/* test_llm.c: the client: money first, then patience. */
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "llm/llm.h"
#include "llm/pace.h"
#include "scripted.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* ---- one client with a provider that follows a list ---- */

struct world {
    struct loop *loop;
    struct budget budget;
    struct scripted *provider;
    struct llm *llm;
    const struct send_result *list; /* the last one repeats */
    size_t list_len;
    int64_t after_ns;
    /* what was told */
    size_t done, told;
    struct llm_cost told_last;
    struct llm_reply last; /* without its strings */
    char text[200], error[300];
    bool wait_for_go;
    struct llm_call *waiting;
};

static struct llm_message hello[] = {{"user", {"hello, world", 12}, 0}};

static void from_list(struct scripted *s, size_t n, const struct llm_request *r,
                      struct send_result *out, int64_t *after_ns)
{
    struct world *w = s->arg;

    (void)r;
    *out = w->list[n < w->list_len ? n : w->list_len - 1];
    *after_ns = w->after_ns;
}

static const struct llm_rules quick = {
    .max_tokens = 100,
    .retries = 3,
    .backoff_base_ns = 1000,
    .backoff_cap_ns = 20000,
};
/* $1 in, $10 out for a million: the worst case of `hello` is 332 + 1000. */
static const struct price price = {true, 1000000, 1000000, 1000000, 10000000};
#define WORST_USD    1332
#define WORST_TOKENS 432

static void on_reserved(struct llm_call *c, struct llm_cost total, void *arg)
{
    struct world *w = arg;

    w->told++;
    w->told_last = total;
    if (w->wait_for_go)
        w->waiting = c;
    else
        llm_go(c);
}

static void on_done(struct llm_call *c, const struct llm_reply *r, void *arg)
{
    struct world *w = arg;

    llm_cancel(c); /* harmless here */
    w->done++;
    w->last = *r;
    snprintf(w->text, sizeof(w->text), "%.*s", (int)r->text.n, r->text.p);
    snprintf(w->error, sizeof(w->error), "%s", r->error);
}

static const struct llm_handlers handlers = {on_reserved, on_done};

static void begin(struct world *w, const struct llm_rules *rules, bool priced,
                  const struct send_result *list, size_t n)
{
    struct err e = ERR_INIT;

    *w = (struct world){.loop = loop_new(&e), .list = list, .list_len = n};
    if (!w->loop)
        BUG("%s", e.text);
    budget_init(&w->budget, (struct llm_cost){BUDGET_NO_CAP, BUDGET_NO_CAP});
    w->provider = scripted_new(w->loop, from_list, w, priced);
    w->llm = llm_new(w->loop, &w->provider->base, rules, &price, &w->budget);
}

static void end(struct world *w)
{
    llm_close(w->llm);
    loop_free(w->loop);
}

static struct llm_call *ask(struct world *w, const char *task)
{
    struct llm_request r = {
        .key = {task, "m", "code", 1}, .message = hello, .count = 1};
    struct err e = ERR_INIT;
    struct llm_call *c = llm_ask(w->llm, &r, &handlers, w, &e);

    if (!c)
        BUG("%s", e.text);
    return c;
}

static void quiet(const char *line, void *arg)
{
    snprintf(arg, 400, "%s", line);
}

/* ---- claims ---- */

static void test_answer(void)
{
    struct send_result list[] = {scripted_answer("hi", 10, 5)};
    struct world w;

    begin(&w, &quick, true, list, 1);
    w.wait_for_go = true;
    ask(&w, "t");
    ok(w.told == 0 && w.done == 0 && w.provider->sent == 0,
       "nothing happens inside llm_ask()");
    loop_run(w.loop);
    ok(w.told == 1 && w.told_last.usd_micro == WORST_USD &&
           w.told_last.tokens == WORST_TOKENS,
       "the worst case is reserved and told");
    ok(w.budget.reserved.usd_micro == WORST_USD, "it is in the ledger");
    ok(w.provider->sent == 0, "nothing goes out before llm_go()");
    ok(llm_pending(w.llm) == 1, "the call is under way");
    llm_go(w.waiting);
    ok(w.provider->sent == 0, "nor inside llm_go()");
    loop_run(w.loop);
    ok(w.done == 1 && w.last.outcome == LLM_ANSWERED, "then it is answered");
    is(w.text, "hi", "with the text");
    ok(w.last.cost.usd_micro == 60 && w.last.cost.tokens == 15 &&
           w.last.requests == 1,
       "it costs what was used");
    ok(w.budget.spent.usd_micro == 60 && w.budget.reserved.usd_micro == 0 &&
           w.budget.live.tokens == 0,
       "the rest of the reservation is given back");
    ok(!w.last.usage.estimated && llm_pending(w.llm) == 0, "and all is over");
    end(&w);
}

static void test_no_usage(void)
{
    struct send_result list[] = {scripted_answer("1234567", 0, 0)};
    struct world w;

    list[0].usage.estimated = true;
    begin(&w, &quick, true, list, 1);
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.last.usage.estimated && w.last.usage.input == 4 &&
           w.last.usage.output == 2,
       "usage that is missing is estimated, and marked");
    ok(w.last.cost.usd_micro == WORST_USD,
       "a bill that is not shown is taken at its worst");
    end(&w);
    begin(&w, &quick, false, list, 1);
    llm_close(w.llm);
    w.provider = scripted_new(w.loop, from_list, &w, false);
    w.llm = llm_new(w.loop, &w.provider->base, &quick, &(struct price){0},
                    &w.budget);
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.last.cost.usd_micro == 0 && w.last.cost.tokens == 6,
       "where nothing is billed the estimate counts");
    end(&w);
}

static void test_too_much(void)
{
    struct send_result list[] = {scripted_answer("x", 10, 5000)};
    char line[400] = "";
    struct world w;

    log_set_writer(quiet, line);
    begin(&w, &quick, true, list, 1);
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.budget.spent.usd_micro == 50010, "what passes the limit is counted");
    ok(strstr(line, "5000 out") != NULL, "and warned of");
    end(&w);
    log_set_writer(NULL, NULL);
}

static void test_retries(void)
{
    struct send_result list[] = {scripted_failure(SEND_RETRY, "503"),
                                 scripted_failure(SEND_RETRY, "503"),
                                 scripted_answer("hi", 10, 5)};
    struct world w;

    begin(&w, &quick, true, list, 3);
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.last.outcome == LLM_ANSWERED && w.last.requests == 3,
       "what may succeed is sent again");
    ok(w.told == 1 && w.last.cost.usd_micro == 60,
       "without another reservation, and costs nothing more");
    end(&w);
    begin(&w, &quick, true, list, 1);
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.last.outcome == LLM_FAILED && w.provider->sent == 4 &&
           w.last.requests == 4,
       "never more than retries + 1 requests");
    is(w.error, "503 (after 4 requests)", "the end says why");
    ok(w.budget.spent.tokens == 0 && w.budget.reserved.tokens == 0,
       "what was not done is not paid");
    end(&w);
    list[0] = scripted_failure(SEND_REFUSED, "401");
    begin(&w, &quick, true, list, 1);
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.last.outcome == LLM_REFUSED && w.provider->sent == 1,
       "what will never succeed is not sent again");
    ok(w.budget.reserved.tokens == 0, "its reservation is given back");
    end(&w);
}

static void test_lost(void)
{
    struct send_result list[] = {scripted_failure(SEND_LOST, "cut"),
                                 scripted_answer("hi", 10, 5)};
    struct world w;

    begin(&w, &quick, true, list, 2);
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.last.outcome == LLM_ANSWERED && w.told == 2,
       "a lost request needs a new reservation");
    ok(w.told_last.usd_micro == 2 * WORST_USD, "which is told with the lost");
    ok(w.last.cost.usd_micro == WORST_USD + 60 &&
           w.budget.spent.usd_micro == WORST_USD + 60,
       "the lost one is charged at its worst");
    end(&w);
    begin(&w, &quick, true, list, 2);
    w.budget.cap.usd_micro = 2 * WORST_USD - 1;
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.last.outcome == LLM_NO_BUDGET && w.last.requests == 1 &&
           w.last.cost.usd_micro == WORST_USD,
       "where that does not fit the call ends with what was lost");
    end(&w);
}

static void test_retry_after(void)
{
    struct send_result list[] = {scripted_failure(SEND_RETRY, "429"),
                                 scripted_answer("hi", 10, 5)};
    struct world w;
    int64_t began;

    list[0].retry_after_ns = 30 * TICK_MS;
    begin(&w, &quick, true, list, 2);
    began = tick_now_ns();
    ask(&w, "t");
    loop_run(w.loop);
    ok(w.provider->last_ns - began >= 30 * TICK_MS,
       "Retry-After is waited for");
    end(&w);
}

static void test_backoff(void)
{
    struct backoff b = {.base_ns = TICK_S, .cap_ns = 60 * TICK_S};
    bool within = true, differs = false;

    rng_init(&b.rng, "test");
    for (int n = 1; n < 40; n++) {
        int64_t step = n > 6 ? 60 * TICK_S : TICK_S << (n - 1),
                got = backoff_ns(&b, n, 0);

        within &= got >= step / 2 && got <= step;
        differs |= got != step;
    }
    ok(within, "the wait doubles from 1 s to 60 s, and is at least half");
    ok(differs, "chance is in it");
    ok(backoff_ns(&b, 1, 100 * TICK_S) == 100 * TICK_S,
       "the provider's own wait is not shortened");
}

static void test_in_flight(void)
{
    struct send_result list[] = {scripted_answer("hi", 10, 5)};
    struct llm_rules rules = quick;
    struct world w;

    rules.in_flight = 3;
    begin(&w, &rules, true, list, 1);
    w.after_ns = TICK_MS;
    for (int i = 0; i < 10; i++)
        ask(&w, "t");
    loop_run(w.loop);
    ok(w.done == 10 && w.provider->most_at_once == 3,
       "no more calls at once than allowed");
    end(&w);
}

struct place {
    int number, *order;
    size_t *n;
};

static void in_order(struct llm_call *c, const struct llm_reply *r, void *arg)
{
    const struct place *p = arg;

    (void)c;
    (void)r;
    p->order[(*p->n)++] = p->number;
}

static void test_fifo(void)
{
    struct send_result list[] = {scripted_answer("hi", 10, 5)};
    struct llm_rules rules = quick;
    const struct llm_handlers h = {NULL, in_order};
    struct err e = ERR_INIT;
    struct place place[6];
    int order[6] = {0};
    bool ordered = true;
    size_t n = 0;
    struct world w;

    rules.in_flight = 1;
    begin(&w, &rules, true, list, 1);
    for (int i = 0; i < 6; i++) {
        struct llm_request r = {
            .key = {"t", "m", "code", i + 1}, .message = hello, .count = 1};

        place[i] = (struct place){i, order, &n};
        llm_ask(w.llm, &r, &h, &place[i], &e);
    }
    loop_run(w.loop);
    for (int i = 0; i < 6; i++)
        ordered &= order[i] == i;
    ok(n == 6 && ordered,
       "first come, first served, without a reserved handler, too");
    end(&w);
}

static void test_rates(void)
{
    struct rate r = {.per_minute = 60};
    struct send_result list[] = {scripted_answer("hi", 10, 5)};
    struct llm_rules rules = quick;
    struct world w;
    int64_t began;

    ok(rate_wait_ns(&r, 0) == 0, "the first may go at once");
    rate_take(&r, 1, 0);
    ok(rate_wait_ns(&r, 0) == TICK_S, "at 60 a minute the next in a second");
    ok(rate_wait_ns(&r, TICK_S) == 0, "then it may");
    rate_take(&r, 10, TICK_S);
    rate_take(&r, -9, TICK_S);
    ok(rate_wait_ns(&r, TICK_S) == TICK_S, "what is not used is given back");
    rate_take(&r, 1, 100 * TICK_S);
    ok(rate_wait_ns(&r, 100 * TICK_S) == TICK_S, "idle time is not saved up");
    rate_take(&r, INT64_MAX, 0);
    ok(rate_wait_ns(&r, 0) > 0, "no number wraps");
    rules.requests_per_minute = 60 * 200; /* one in 5 ms */
    begin(&w, &rules, true, list, 1);
    began = tick_now_ns();
    for (int i = 0; i < 5; i++)
        ask(&w, "t");
    loop_run(w.loop);
    ok(w.done == 5 && w.provider->last_ns - began >= 20 * TICK_MS,
       "requests keep their distance");
    end(&w);
    rules.requests_per_minute = 0;
    rules.tokens_per_minute = 60 * 1000 * 60; /* 60 in a millisecond */
    begin(&w, &rules, true, list, 1);
    w.after_ns = 100 * TICK_MS; /* after all of them have gone out */
    began = tick_now_ns();
    for (int i = 0; i < 11; i++)
        ask(&w, "t");
    loop_run(w.loop);
    ok(w.done == 11 && w.provider->last_ns - began >= 17 * TICK_MS,
       "and so do tokens: 10 calls of 104 before the last take 17 ms");
    end(&w);
}

static void test_breaker(void)
{
    struct send_result list[10];
    struct llm_rules rules = quick;
    char line[400] = "";
    struct world w;

    log_set_writer(quiet, line);
    for (int i = 0; i < 9; i++)
        list[i] = scripted_failure(SEND_RETRY, "503 down");
    list[9] = scripted_answer("hi", 10, 5);
    rules.retries = 20;
    rules.pause_after = 6;
    rules.pause_ns = 40 * TICK_MS;
    begin(&w, &rules, true, list, 10);
    for (int i = 0; i < 3; i++)
        ask(&w, "t");
    while (!llm_state(w.llm)[0])
        loop_run_for(w.loop, TICK_MS);
    ok(w.provider->sent >= 6, "after some failures in a row it pauses");
    ok(strstr(llm_state(w.llm), "paused for 1 s: 503 down") != NULL,
       "and says why");
    ok(strstr(line, "paused for") != NULL, "in the log, too");
    w.provider->most_at_once = 0;
    while (w.provider->sent < 10)
        loop_run_for(w.loop, TICK_MS);
    ok(w.provider->most_at_once == 1, "then one call at a time tries");
    loop_run(w.loop);
    ok(w.done == 3 && w.last.outcome == LLM_ANSWERED, "until it answers");
    is(llm_state(w.llm), "", "and all is well again");
    end(&w);
    log_set_writer(NULL, NULL);
}

static void test_breaker_alone(void)
{
    struct breaker b = {.after = 2, .pause_ns = 100};

    ok(!breaker_bad(&b, false, 0, 0) && breaker_wait_ns(&b, 0) == 0,
       "one failure is none");
    breaker_good(&b);
    breaker_bad(&b, false, 0, 0);
    ok(breaker_bad(&b, false, 0, 0) && breaker_wait_ns(&b, 0) == 100,
       "two in a row pause");
    ok(!breaker_bad(&b, false, 50, 0) && breaker_wait_ns(&b, 50) == 50,
       "a late failure does not prolong");
    ok(breaker_wait_ns(&b, 100) == 0 && breaker_sent(&b) &&
           breaker_wait_ns(&b, 100) < 0,
       "one test, and no second beside it");
    breaker_forget_test(&b, 150);
    ok(breaker_wait_ns(&b, 150) == 0 && breaker_sent(&b),
       "a test that was cancelled makes room for another");
    ok(breaker_bad(&b, true, 200, 0) && breaker_wait_ns(&b, 200) == 200,
       "a test that fails doubles the pause");
    ok(breaker_wait_ns(&b, 400) == 0 && breaker_sent(&b) &&
           breaker_bad(&b, true, 400, 5000) && breaker_wait_ns(&b, 400) == 5000,
       "Retry-After is kept here, too");
    ok(breaker_good(&b) && breaker_wait_ns(&b, 0) == 0, "an answer ends it");
}

static void test_cancel(void)
{
    struct send_result list[] = {scripted_answer("hi", 10, 5)};
    struct world w;
    struct llm_call *a;

    begin(&w, &quick, true, list, 1);
    w.after_ns = 3600 * TICK_S;
    a = ask(&w, "a");
    ask(&w, "b");
    while (w.provider->sent < 2)
        loop_run_for(w.loop, TICK_MS);
    llm_cancel(a);
    ok(w.provider->cancelled == 1 && llm_pending(w.llm) == 1,
       "a call can be forgotten");
    ok(w.budget.reserved.usd_micro == 2 * WORST_USD &&
           w.budget.live.usd_micro == WORST_USD,
       "what it reserved stays reserved");
    end(&w);
    ok(w.done == 0, "closing calls nobody");
    ok(w.budget.reserved.usd_micro == 2 * WORST_USD &&
           w.budget.live.usd_micro == 0,
       "and leaves the rest reserved, too");
}

static void test_waiting(void)
{
    struct send_result list[] = {scripted_answer("hi", 10, 5)};
    struct world w;

    begin(&w, &quick, false, list, 1);
    w.after_ns = 3600 * TICK_S;
    ask(&w, "a");
    while (!w.provider->sent)
        loop_run_for(w.loop, TICK_MS);
    ok(llm_waiting(w.llm) == 1, "a patient provider's calls wait");
    scripted_end(w.provider);
    loop_run(w.loop);
    ok(llm_waiting(w.llm) == 0, "until they are answered");
    end(&w);
}

static void test_nonsense(void)
{
    struct send_result list[] = {scripted_answer("hi", 10, 5)};
    struct llm_request good = {.key = {"t", "m", "code", 1},
                               .message = hello,
                               .count = 1},
                       r;
    struct err e = ERR_INIT;
    struct world w;

    begin(&w, &quick, true, list, 1);
    r = good;
    r.count = 0;
    ok(!llm_ask(w.llm, &r, &handlers, &w, &e), "no message: %s", e.text);
    r = good;
    r.key.attempt = 0;
    ok(!llm_ask(w.llm, &r, &handlers, &w, &e), "no attempt: %s", e.text);
    r = good;
    r.max_tokens = -1;
    ok(!llm_ask(w.llm, &r, &handlers, &w, &e), "no room: %s", e.text);
    end(&w);
}

static void test_keys_in_errors(void)
{
    struct send_result list[] = {
        scripted_failure(SEND_REFUSED, "wrong key sk-tell-nobody-1, really")};
    struct world w;

    setenv("OPENAI_API_KEY", "sk-tell-nobody-1\n", 1);
    begin(&w, &quick, true, list, 1);
    ask(&w, "t");
    loop_run(w.loop);
    is(w.error, "wrong key [key], really", "a key is not in an error's text");
    unsetenv("OPENAI_API_KEY");
    end(&w);
}

/* Two fronts on one budget: one waits for what the other holds. */
static void test_shared_budget(void)
{
    struct send_result list[] = {scripted_answer("hi", 10, 5)};
    struct world w;
    struct scripted *other_provider;
    struct llm *other, *first;

    begin(&w, &quick, true, list, 1);
    w.after_ns = 20 * TICK_MS;
    w.budget.cap.usd_micro = WORST_USD + 100;
    other_provider = scripted_new(w.loop, from_list, &w, true);
    other = llm_new(w.loop, &other_provider->base, &quick, &price, &w.budget);
    ask(&w, "a");
    while (!w.provider->sent)
        loop_run_for(w.loop, TICK_MS / 10);
    first = w.llm;
    w.llm = other;
    ask(&w, "b");
    loop_run(w.loop);
    ok(w.done == 2 && w.last.outcome == LLM_ANSWERED,
       "money that another client holds is waited for");
    llm_close(other);
    w.llm = first;
    end(&w);
}

SUITE(llm)
{
    test_answer();
    test_no_usage();
    test_too_much();
    test_retries();
    test_lost();
    test_retry_after();
    test_backoff();
    test_in_flight();
    test_fifo();
    test_rates();
    test_breaker();
    test_breaker_alone();
    test_cancel();
    test_waiting();
    test_nonsense();
    test_keys_in_errors();
    test_shared_budget();
}
