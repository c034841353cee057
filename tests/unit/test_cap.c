/* test_cap.c: the cap under fire: a thousand calls at once, with every way a
 * request can end by chance, whole and with a crash in the middle. The provider
 * keeps the true bill; no bill may pass the cap. CAP_SEEDS=200 tries harder. */
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/tick.h"
#include "llm/llm.h"
#include "scripted.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define CALLS   1000
#define RETRIES 3

struct fire;
struct shot {
    struct fire *f;
    struct llm_message message;
    struct llm_cost billed; /* in truth */
    struct llm_call *call;
    /* what a database would hold */
    struct llm_cost open;      /* reserved and without an end */
    struct llm_cost abandoned; /* likewise, by earlier lives */
    struct llm_cost cost;      /* of its end */
    enum llm_outcome outcome;
    bool ended;
};

struct fire {
    struct rng rng;
    struct loop *loop;
    struct budget budget;
    struct llm_rules rules;
    struct price price;
    struct llm *llm;
    struct shot shot[CALLS];
    struct llm_cost cap;
    struct llm_cost refused; /* the largest worst case that did not fit */
    size_t ended, twice, over, stop_at;
    bool passed; /* spent + reserved was above the cap at some time */
};

static int64_t chance(struct fire *f, int64_t n)
{
    return (int64_t)rng_below(&f->rng, (uint64_t)n);
}

static bool above(struct llm_cost a, struct llm_cost cap)
{
    return a.usd_micro > cap.usd_micro || a.tokens > cap.tokens;
}

static void watch(struct fire *f)
{
    f->passed |= above(cost_add(f->budget.spent, f->budget.reserved), f->cap);
}

/* ---- the provider ---- */

/* Any usage that the request's limits allow. */
static struct llm_usage any_usage(struct fire *f, const struct llm_request *r)
{
    struct llm_usage u = {0};

    u.input = chance(f, (int64_t)r->message[0].text.n + 64 + 256 + 1);
    u.cached = chance(f, u.input + 1);
    u.written = chance(f, u.input - u.cached + 1);
    u.output = chance(f, f->rules.max_tokens + 1);
    return u;
}

static void any_end(struct scripted *s, size_t n, const struct llm_request *r,
                    struct send_result *out, int64_t *after_ns)
{
    struct fire *f = s->arg;
    struct llm_usage u = any_usage(f, r);
    struct llm_cost *bill = &f->shot[r->key.attempt - 1].billed;
    int64_t dice = chance(f, 100);
    bool billed = true;

    (void)n;
    *after_ns = chance(f, 2) * chance(f, 200000);
    *out = scripted_answer("text", 0, 0);
    out->usage = u;
    if (dice < 10) {
        out->usage = (struct llm_usage){.estimated = true};
    } else if (dice < 25) {
        *out = scripted_failure(SEND_RETRY, "503");
        out->retry_after_ns = chance(f, 2) * 50000;
        billed = false;
    } else if (dice < 35) {
        *out = scripted_failure(SEND_LOST, "cut");
        billed = chance(f, 2);
    } else if (dice < 40) {
        *out = scripted_failure(SEND_REFUSED, "400");
        billed = false;
    }
    if (billed)
        *bill = cost_add(*bill, price_of(&f->price, &u));
}

/* ---- the caller ---- */

static void go(void *arg)
{
    struct shot *s = arg;

    llm_go(s->call);
}

static void on_reserved(struct llm_call *c, struct llm_cost total, void *arg)
{
    struct shot *s = arg;

    s->open = total; /* stored, and after a while durable */
    s->call = c;
    watch(s->f);
    loop_add_timer(s->f->loop,
                   tick_now_ns() + chance(s->f, 2) * chance(s->f, 50000), go,
                   s);
}

static void on_done(struct llm_call *c, const struct llm_reply *r, void *arg)
{
    struct shot *s = arg;
    struct fire *f = s->f;

    (void)c;
    f->twice += s->ended;
    f->over += r->requests > RETRIES + 1;
    s->ended = true;
    s->outcome = r->outcome;
    s->cost = r->cost;
    s->open = (struct llm_cost){0};
    if (r->outcome == LLM_NO_BUDGET) {
        struct llm_cost worst =
            price_worst(&f->price, (int64_t)s->message.text.n + 64 + 256,
                        f->rules.max_tokens);

        if (worst.usd_micro > f->refused.usd_micro)
            f->refused.usd_micro = worst.usd_micro;
        if (worst.tokens > f->refused.tokens)
            f->refused.tokens = worst.tokens;
    }
    watch(f);
    if (++f->ended == f->stop_at)
        loop_stop(f->loop);
}

static void ask_all(struct fire *f)
{
    const struct llm_handlers h = {on_reserved, on_done};

    for (int i = 0; i < CALLS; i++) {
        struct shot *s = &f->shot[i];
        struct llm_request r = {.key = {"t", "m", "code", i + 1},
                                .message = &s->message,
                                .count = 1};
        struct err e = ERR_INIT;

        if (!s->ended && !llm_ask(f->llm, &r, &h, s, &e))
            BUG("%s", e.text);
    }
}

/* A life of the program: from a ledger rebuilt out of what was stored to the
 * end of all calls, or to a crash. */
static void live(struct fire *f)
{
    struct err e = ERR_INIT;
    struct scripted *p;

    budget_init(&f->budget, f->cap);
    for (int i = 0; i < CALLS; i++) {
        struct shot *s = &f->shot[i];

        s->abandoned = cost_add(s->abandoned, s->open);
        s->open = (struct llm_cost){0};
        f->budget.spent = cost_add(f->budget.spent, s->cost);
        f->budget.reserved = cost_add(f->budget.reserved, s->abandoned);
    }
    f->loop = loop_new(&e);
    if (!f->loop)
        BUG("%s", e.text);
    p = scripted_new(f->loop, any_end, f, true);
    f->llm = llm_new(f->loop, &p->base, &f->rules, &f->price, &f->budget);
    ask_all(f);
    loop_run(f->loop);
    llm_close(f->llm);
    loop_free(f->loop);
}

static void light(struct fire *f, int seed)
{
    static char text[3000];
    static const int64_t at_once[] = {0, 20, 100, 900};

    memset(text, 'x', sizeof(text));
    *f = (struct fire){.stop_at = SIZE_MAX};
    rng_init(&f->rng, "cap/%d", seed);
    f->price =
        (struct price){true, 1 + chance(f, 5000000), 1 + chance(f, 5000000),
                       1 + chance(f, 6000000), 1 + chance(f, 20000000)};
    f->rules = (struct llm_rules){.max_tokens = 1 + chance(f, 2000),
                                  .in_flight = at_once[seed % 4],
                                  .retries = RETRIES,
                                  .backoff_base_ns = 1000,
                                  .backoff_cap_ns = 50000,
                                  .pause_after = 5,
                                  .pause_ns = 20000};
    /* From a tight cap to one that all the work fits under. */
    f->cap.usd_micro = 1 + chance(f, 12000000);
    f->cap.tokens = chance(f, 2) ? BUDGET_NO_CAP : 1 + chance(f, 4000000);
    for (int i = 0; i < CALLS; i++) {
        f->shot[i].f = f;
        f->shot[i].message.role = "user";
        f->shot[i].message.text =
            (struct str){text, (size_t)chance(f, (int64_t)sizeof(text))};
    }
}

/* All that must hold at the end. */
static const char *wrong(const struct fire *f)
{
    struct llm_cost taken = cost_add(f->budget.spent, f->budget.reserved),
                    left = cost_sub(f->cap, taken);

    if (f->passed || above(taken, f->cap))
        return "the cap was passed";
    for (int i = 0; i < CALLS; i++) {
        const struct shot *s = &f->shot[i];

        if (above(s->billed, cost_add(s->cost, s->abandoned)))
            return "a call's bill is more than what was taken for it";
    }
    if (f->ended != CALLS || f->twice)
        return "a call did not end once";
    if (f->over)
        return "a call made too many requests";
    if (f->budget.live.usd_micro || f->budget.live.tokens)
        return "a reservation was forgotten";
    if (f->refused.tokens && left.usd_micro >= f->refused.usd_micro &&
        left.tokens >= f->refused.tokens)
        return "a call was refused that would have fitted";
    return NULL;
}

SUITE(cap)
{
    const char *given = getenv("CAP_SEEDS"); // NOLINT(concurrency-mt-unsafe)
    struct fire *f = xmalloc(sizeof(*f));
    int64_t seeds = 20;
    size_t tight = 0, answered = 0;
    const char *why = NULL;
    int seed;

    if (given && !str_to_i64(str_of(given), 1, 100000, &seeds))
        BUG("CAP_SEEDS=%s", given);
    log_set_level(LOG_QUIET); /* it pauses often */
    for (seed = 0; !why && seed < seeds; seed++) {
        light(f, seed);
        live(f);
        why = wrong(f);
        tight += f->refused.tokens > 0;
        for (int i = 0; i < CALLS; i++)
            answered += f->shot[i].outcome == LLM_ANSWERED;
    }
    ok(!why, "%d calls at once, %d seeds: %s", CALLS, seed,
       why ? why : "the cap holds, and is used to within a call");
    ok(tight && tight < (size_t)seeds && answered,
       "%zu of them came to the cap", tight);
    for (seed = 0; !why && seed < seeds; seed++) {
        light(f, seed + 100000);
        f->stop_at = 1 + (size_t)chance(f, CALLS - 1);
        live(f); /* until it crashes */
        f->stop_at = SIZE_MAX;
        live(f);
        why = wrong(f);
    }
    ok(!why, "the same with a crash in the middle, %d seeds: %s", seed,
       why ? why : "the cap holds over both lives");
    log_set_level(LOG_INFO);
    free(f);
}
