/* test_ledger.c: a call is paid for once and never lost: what the store holds
 * at each step, what a later life makes of it, and the room under the cap. */
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "llm/ask_all.h"
#include "llm/llm.h"
#include "scratch.h"
#include "scripted.h"
#include "store_fixture.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TOKENS 1000
/* What one request may cost at a micro-dollar a token: 3 bytes of text and what
 * may stand around it. */
#define WORST  (3 + 64 + 256 + MAX_TOKENS)
#define REAL   150 /* what it does cost */
#define NO_CAP BUDGET_NO_CAP

/* One life of a program. */
struct life {
    char *db;
    struct loop *loop;
    struct store *store;
    struct budget budget;
    struct scripted *provider;
    struct llm *llm;
    struct ledger *ledger;
    enum send_outcome outcome; /* of every request */
    bool never;                /* no request ends */
    bool open_first; /* each request found its own reservation in the store */
    /* of the calls that are over */
    size_t over, ends[5];
    char text[64];
    struct llm_cost need;
    /* asked, or closed, when the first call is over */
    const char *follow;
    struct ledger_reservation *reservation, *close;
    struct co *waits[8]; /* for answers */
};

static struct co *ask(struct life *f, const char *asked,
                      struct ledger_reservation *reservation, int64_t then);

static void next(struct scripted *s, size_t n, const struct llm_request *r,
                 struct send_result *out, int64_t *after_ns)
{
    struct life *f = s->arg;

    (void)n, (void)r;
    *after_ns = f->never ? INT64_MAX / 4 : 0;
    f->open_first =
        db_number(f->db, "SELECT count(*) FROM call WHERE state = 'open' AND "
                         "reserved_usd_micro > 0") > 0;
    *out = f->outcome == SEND_ANSWERED ? scripted_answer("hello", 100, 50)
                                       : scripted_failure(f->outcome, "no");
}

static void begin(struct life *f, const char *dir, int64_t cap)
{
    struct llm_rules rules = llm_default_rules;
    struct price price = {.known = true, .input = 1000000, .output = 1000000};
    struct err e = ERR_INIT;

    f->db = fs_join(dir, "run.db");
    f->loop = loop_new(&e);
    f->store =
        db_open(dir, fs_is_file(f->db) ? STORE_OPEN : STORE_NEW, f->loop);
    budget_init(&f->budget, (struct llm_cost){cap, NO_CAP});
    rules.max_tokens = MAX_TOKENS;
    rules.backoff_base_ns = rules.backoff_cap_ns = 1000;
    f->provider = scripted_new(f->loop, next, f, true);
    f->llm = llm_new(f->loop, &f->provider->base, &rules, &price, &f->budget);
    f->ledger = ledger_open(
        &(struct ledger_parts){f->loop, f->store, &f->budget, false}, &e);
    if (!f->ledger)
        BUG("%s", e.text);
}

static void end(struct life *f)
{
    for (size_t i = 0; i < 8; i++)
        if (f->waits[i])
            co_cancel(f->waits[i]);
    ledger_close(f->ledger);
    llm_close(f->llm);
    db_close(f->store);
    loop_free(f->loop);
    free(f->db);
}

static void take_answer(struct life *f, const struct ledger_answer *a)
{
    f->over++;
    f->ends[a->end]++;
    f->need = a->need;
    snprintf(f->text, sizeof(f->text), "%.*s", (int)a->text.n, a->text.p);
    if (f->over == 1 && f->follow)
        ask(f, f->follow, f->reservation, 0);
    if (f->over == 1 && f->close)
        ledger_reservation_close(f->ledger, f->close);
}

struct asking {
    struct life *f;
    struct ledger_question q;
    size_t at; /* in `waits` */
};

static void wait_for_answer(void *arg)
{
    struct asking x = *(struct asking *)arg;
    struct ledger_answer a;
    struct arena memory = {0};
    int rc;

    rc = ledger_ask(x.f->ledger, &x.q, &memory, &a);
    x.f->waits[x.at] = NULL;
    if (rc == 0)
        take_answer(x.f, &a);
    arena_release(&memory);
}

/* `then` > 0: it is the first call on the reservation. NULL: there is an answer. */
static struct co *ask(struct life *f, const char *asked,
                      struct ledger_reservation *reservation, int64_t then)
{
    static const struct llm_message message = {.role = "user",
                                               .text = {"Hi?", 3}};
    struct asking x = {.f = f,
                       .q = {.purpose = "test",
                             .asked = asked,
                             .task = -1,
                             .client = f->llm,
                             .request = {.key = {"t", "m", "test", 1},
                                         .message = &message,
                                         .count = 1},
                             .prompt_hash = "p",
                             .reservation = reservation,
                             .then = {then, then}}};
    struct co *co;

    while (f->waits[x.at])
        x.at++;
    if ((co = co_start(wait_for_answer, &x)))
        f->waits[x.at] = co;
    return co;
}

static void run_until(struct life *f, size_t over)
{
    while (f->over < over)
        loop_run_for(f->loop, 5000000);
}

/* ---- once, and durable ---- */

static void test_once(void)
{
    char *dir = scratch_dir();
    struct life f = {.outcome = SEND_ANSWERED}, g = f;

    begin(&f, dir, NO_CAP);
    ask(&f, "a", NULL, 0);
    run_until(&f, 1);
    ok(f.ends[LEDGER_ANSWERED] == 1 && strcmp(f.text, "hello") == 0,
       "a question is answered");
    ok(f.open_first, "its reservation is in the store before it goes out");
    ok(f.budget.spent.usd_micro == REAL && f.budget.reserved.usd_micro == 0,
       "it costs what the provider metered");
    end(&f);

    begin(&g, dir, NO_CAP);
    ok(g.budget.spent.usd_micro == REAL, "the next life knows what was spent");
    ask(&g, "a", NULL, 0);
    ok(g.over == 1 && strcmp(g.text, "hello") == 0 && g.provider->sent == 0,
       "and has the reply without asking");
    ask(&g, "b", NULL, 0);
    run_until(&g, 2);
    ok(g.provider->sent == 1, "another question is another call");
    end(&g);
}

static void test_joined(void)
{
    char *dir = scratch_dir(), *db = scratch_path(dir, "run.db");
    struct life f = {.outcome = SEND_ANSWERED};
    struct co *second;

    begin(&f, dir, NO_CAP);
    ask(&f, "a", NULL, 0);
    ask(&f, "a", NULL, 0);
    second = ask(&f, "a", NULL, 0);
    ask(&f, "b", NULL, 0);
    co_cancel(second);
    run_until(&f, 3);
    ok(f.ends[LEDGER_ANSWERED] == 3 && f.provider->sent == 2,
       "who asks the same while it is under way gets the same answer");
    ok(f.budget.spent.usd_micro == 2 * REAL &&
           db_number(db, "SELECT count(*) FROM call") == 2,
       "and it is paid for once");
    f.text[0] = '\0';
    ok(!ask(&f, "a", NULL, 0) && f.over == 4 && strcmp(f.text, "hello") == 0 &&
           f.provider->sent == 2,
       "who asks later has the reply at once");
    end(&f);
    ok(f.over == 4, "who has dropped the call hears nothing");
}

static void test_passed_on(void)
{
    char *dir = scratch_dir(), *db = scratch_path(dir, "run.db");
    struct life f = {.never = true};
    struct co *first;

    begin(&f, dir, NO_CAP);
    first = ask(&f, "a", NULL, 0);
    ask(&f, "a", NULL, 0);
    ask(&f, "a", NULL, 0);
    while (!f.provider->sent)
        loop_run_for(f.loop, 5000000);
    f.never = false;
    f.outcome = SEND_ANSWERED;
    co_cancel(first);
    ok(f.provider->sent == 1, "when the first drops the call, nothing is sent "
                              "before the loop runs");
    run_until(&f, 2);
    ok(f.ends[LEDGER_ANSWERED] == 2 && f.provider->sent == 2,
       "then the next one asks, once for all that wait");
    ok(db_number(db, "SELECT count(*) FROM call WHERE state = 'open' AND try = "
                     "1") == 1 &&
           db_number(db, "SELECT count(*) FROM call WHERE state = 'answered' "
                         "AND try = 2") == 1,
       "and the store has both tries");
    end(&f);
}

static void test_cancelled_while_storing(void)
{
    char *dir = scratch_dir(), *db = scratch_path(dir, "run.db");
    struct life f = {.outcome = SEND_ANSWERED};
    struct co *first;

    begin(&f, dir, NO_CAP);
    first = ask(&f, "a", NULL, 0);
    ask(&f, "a", NULL, 0);
    while (f.budget.spent.usd_micro == 0)
        loop_run_for(f.loop, 0);
    ok(f.over == 0, "a reply that is not on disk is not used");
    co_cancel(first);
    ask(&f, "a", NULL, 0);
    ok(f.over == 0, "by nobody who asks then, either");
    run_until(&f, 2);
    ok(f.ends[LEDGER_ANSWERED] == 2 && strcmp(f.text, "hello") == 0 &&
           f.provider->sent == 1,
       "if its caller is cancelled, the others still get it");
    ok(f.budget.spent.usd_micro == REAL &&
           db_number(db, "SELECT count(*) FROM call") == 1,
       "and it is paid for once");
    end(&f);
}

/* Those who have joined end as the call does. */
static void test_joined_ends(void)
{
    char *dir = scratch_dir();
    struct life f = {.outcome = SEND_REFUSED}, g = {.outcome = SEND_ANSWERED},
                h = {.never = true};

    begin(&f, dir, NO_CAP);
    ask(&f, "a", NULL, 0);
    ask(&f, "a", NULL, 0);
    run_until(&f, 2);
    ok(f.ends[LEDGER_FAILED] == 2 && f.provider->sent == 1, "refused: once");
    ask(&f, "a", NULL, 0);
    run_until(&f, 3);
    ok(f.provider->sent == 2 &&
           db_number(f.db, "SELECT count(*) FROM call") == 2,
       "asked again, it is another try");
    end(&f);
    begin(&g, dir, 10);
    ask(&g, "b", NULL, 0);
    ask(&g, "b", NULL, 0);
    run_until(&g, 2);
    ok(g.ends[LEDGER_NO_BUDGET] == 2, "no budget: all hear of it");
    end(&g);
    begin(&h, dir, NO_CAP);
    ask(&h, "c", NULL, 0);
    ask(&h, "c", NULL, 0);
    ledger_stop(h.ledger);
    ok(h.ends[LEDGER_STOPPED] == 2, "stopped: all hear of it");
    ask(&h, "d", NULL, 0);
    end(&h);
    begin(&h, dir, NO_CAP);
    ask(&h, "e", NULL, 0);
    ask(&h, "e", NULL, 0);
    while (!h.provider->sent)
        loop_run_for(h.loop, 5000000);
    h.over = 0;
    end(&h);
    ok(h.over == 0, "closed: nobody hears anything");
}

static void test_lost(void)
{
    char *dir = scratch_dir(), *db = scratch_path(dir, "run.db");
    struct life f = {.never = true}, g = {.outcome = SEND_ANSWERED};

    begin(&f, dir, NO_CAP);
    ask(&f, "a", NULL, 0);
    while (!f.provider->sent)
        loop_run_for(f.loop, 5000000);
    end(&f);
    ok(db_number(db, "SELECT count(*) FROM call WHERE state = 'open'") == 1,
       "a call is under way when the program ends");

    begin(&g, dir, NO_CAP);
    ok(g.budget.spent.usd_micro == WORST && g.budget.reserved.usd_micro == 0,
       "it counts as spent at its worst");
    ask(&g, "a", NULL, 0);
    run_until(&g, 1);
    ok(g.ends[LEDGER_ANSWERED] == 1 && g.provider->sent == 1,
       "and is asked again");
    end(&g);
    ok(db_number(db, "SELECT count(*) FROM call WHERE state = 'lost' AND try = "
                     "1 AND assumed_usd_micro = cost_usd_micro") == 1 &&
           db_number(db, "SELECT count(*) FROM call WHERE state = 'answered' "
                         "AND try = 2 AND assumed_usd_micro = 0") == 1,
       "the store has both tries, and says which cost was assumed");
}

static void test_failed(void)
{
    char *dir = scratch_dir();
    struct life f = {.outcome = SEND_RETRY}, g = {.outcome = SEND_REFUSED};

    begin(&f, dir, NO_CAP);
    ask(&f, "a", NULL, 0);
    run_until(&f, 1);
    ok(f.ends[LEDGER_FAILED] == 1 && f.provider->sent == 5 &&
           f.budget.reserved.usd_micro == 0,
       "a call that fails is tried five times, and costs nothing");
    end(&f);
    begin(&g, dir, NO_CAP);
    ask(&g, "a", NULL, 0);
    run_until(&g, 1);
    ok(g.ends[LEDGER_FAILED] == 1 && g.provider->sent == 1,
       "one that is refused, once");
    end(&g);
}

/* ---- the cap ---- */

static void test_parked(void)
{
    char *dir = scratch_dir();
    struct life f = {.outcome = SEND_ANSWERED};

    /* room for one at a time, three times */
    begin(&f, dir, WORST + 2 * REAL);
    ask(&f, "a", NULL, 0);
    ask(&f, "b", NULL, 0);
    ask(&f, "c", NULL, 0);
    ask(&f, "d", NULL, 0);
    run_until(&f, 4);
    ok(f.ends[LEDGER_ANSWERED] == 3 && f.provider->most_at_once == 1,
       "calls wait for room that others leave");
    ok(f.ends[LEDGER_NO_BUDGET] == 1 && f.need.usd_micro == WORST,
       "when nobody can make room, the rest hears what it would take");
    ok(f.budget.spent.usd_micro == 3 * REAL, "and the cap holds");
    end(&f);
}

static void test_reservation(void)
{
    char *dir = scratch_dir();
    struct life f = {.outcome = SEND_ANSWERED};
    struct ledger_reservation one = {0}, other = {0};

    f.follow = "code 1";
    f.reservation = &one;
    begin(&f, dir, 2 * WORST + REAL);
    ask(&f, "plan 1", &one, WORST);
    ask(&f, "plan 2", &other, WORST);
    ok(ledger_parked(f.ledger) == 1 && ledger_in_flight(f.ledger) == 1,
       "a plan is asked for when there is money for its code as well");
    run_until(&f, 3);
    ok(f.ends[LEDGER_ANSWERED] == 2 && f.provider->sent == 2 &&
           one.rest.usd_micro == 0,
       "the code has its money");
    ok(f.ends[LEDGER_NO_BUDGET] == 1 && f.need.usd_micro == 2 * WORST,
       "the other attempt does not begin, and says what both calls need");
    ok(f.budget.spent.usd_micro == 2 * REAL && f.budget.reserved.usd_micro == 0,
       "and nothing stays reserved");
    end(&f);
}

static void test_reservation_returned(void)
{
    char *dir = scratch_dir();
    struct life f = {.outcome = SEND_ANSWERED};
    struct ledger_reservation one = {0}, other = {0};

    f.close = &one;
    begin(&f, dir, 2 * WORST + 2 * REAL);
    ask(&f, "plan 1", &one, WORST);
    ask(&f, "plan 2", &other, WORST);
    run_until(&f, 2);
    ok(f.ends[LEDGER_ANSWERED] == 2,
       "money that an attempt did not need lets another begin");
    ledger_reservation_close(f.ledger, &other);
    ok(f.budget.reserved.usd_micro == 0, "and nothing stays reserved");
    end(&f);
}

/* ---- stopping ---- */

static void test_stop(void)
{
    char *dir = scratch_dir();
    struct life f = {.never = true};

    begin(&f, dir, WORST + 1);
    ask(&f, "a", NULL, 0);
    ask(&f, "b", NULL, 0);
    while (!f.provider->sent)
        loop_run_for(f.loop, 5000000);
    ledger_stop(f.ledger);
    ok(f.ends[LEDGER_STOPPED] == 1 && ledger_in_flight(f.ledger) == 1,
       "what has not gone out ends, what has is waited for");
    ask(&f, "c", NULL, 0);
    ok(f.ends[LEDGER_STOPPED] == 2, "nothing else is asked");
    scripted_end(f.provider);
    run_until(&f, 3);
    ok(f.over == 3, "the reply that was under way is taken");
    end(&f);
}

/* ---- many at once ---- */

struct many {
    struct life *f;
    struct ask_all ask;
    struct ask_group below;
    size_t wide;              /* units of work that each one starts */
    size_t answered, most;    /* coroutines at once */
    size_t stop_at, stop_for; /* after so many requests; how many of them end */
    int stops;
};

static int ask_item(struct many *m, const char *name)
{
    static const struct llm_message message = {.role = "user",
                                               .text = {"Hi?", 3}};
    struct ledger_question q = {.purpose = "test",
                                .asked = name,
                                .request = {.key = {"t", "m", "test", 1},
                                            .message = &message,
                                            .count = 1},
                                .prompt_hash = "p"};
    struct ledger_answer a;
    struct arena memory = {0};
    int rc;

    rc = ask_all_question(&m->ask, &q, &memory, &a);
    m->answered +=
        rc == 0 && a.end == LEDGER_ANSWERED && strcmp(a.text.p, "hello") == 0;
    arena_release(&memory);
    if (co_alive() > m->most)
        m->most = co_alive();
    return rc;
}

static int ask_below(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct many *m = arg;
    char name[32];

    (void)item, (void)e;
    snprintf(name, sizeof(name), "below %zu", a->progress.started);
    return ask_item(m, name);
}

static int ask_one(struct ask_all *a, size_t item, void *arg, struct err *e)
{
    struct many *m = arg;
    char name[32];

    (void)e;
    snprintf(name, sizeof(name), "item %zu", item);
    if (ask_item(m, name) < 0)
        return -1;
    for (size_t i = 0; i < m->wide; i++)
        ask_all_start(a, &m->below, ask_below, m);
    return ask_all_wait(&m->below);
}

static void on_stops(void *arg)
{
    struct many *m = arg;

    if (m->f->provider->sent < m->stop_at) {
        loop_defer(m->f->loop, on_stops, m);
        return;
    }
    for (int i = 0; i < m->stops; i++)
        ask_all_stop(&m->ask);
    for (size_t i = 0; i < m->stop_for; i++)
        scripted_end(m->f->provider);
}

static enum ask_end ask_many(struct many *m, struct life *f, size_t count)
{
    struct err e = ERR_INIT;

    m->f = f;
    m->ask.part = (struct ask_parts){
        .loop = f->loop, .ledger = f->ledger, .client = f->llm};
    if (m->stops)
        loop_defer(f->loop, on_stops, m);
    return ask_all(&m->ask, count, ask_one, m, &e);
}

static void test_many(void)
{
    char *dir = scratch_dir();
    struct life f = {.outcome = SEND_ANSWERED}, g = f, h = f;
    struct many all = {0}, again = {0}, poor = {0};

    begin(&f, dir, NO_CAP);
    ok(ask_many(&all, &f, 2 * CO_MOST) == ASK_DONE &&
           all.answered == 2 * CO_MOST && all.ask.progress.done == 2 * CO_MOST,
       "more questions than there may be coroutines are answered");
    ok(all.most <= CO_MOST && f.provider->most_at_once > 1 && co_alive() == 0,
       "several at once, but never more than that");
    end(&f);
    begin(&g, dir, NO_CAP);
    ok(ask_many(&again, &g, 2 * CO_MOST) == ASK_DONE &&
           again.answered == 2 * CO_MOST && g.provider->sent == 0,
       "the next life has all answers, and asks for none");
    end(&g);
    dir = scratch_dir();
    begin(&h, dir, WORST + 2 * REAL);
    ok(ask_many(&poor, &h, 4) == ASK_NO_BUDGET && poor.answered == 3 &&
           co_alive() == 0,
       "when the budget has no room for the next one, all end");
    end(&h);
}

static void test_many_below(void)
{
    char *dir = scratch_dir();
    struct life f = {.outcome = SEND_ANSWERED};
    struct many m = {.wide = CO_MOST + 40};

    begin(&f, dir, NO_CAP);
    ok(ask_many(&m, &f, 1) == ASK_DONE && m.answered == m.wide + 1 &&
           m.most <= CO_MOST,
       "work that starts more work than there may be coroutines waits for all "
       "of it");
    end(&f);
}

static void test_many_stopped(void)
{
    char *dir = scratch_dir();
    struct life f = {.never = true}, g = f, h = {.outcome = SEND_ANSWERED};
    struct many once = {.stop_at = 3, .stops = 1, .stop_for = 3},
                twice = {.stop_at = 3, .stops = 2}, rest = {0};

    f.outcome = g.outcome = SEND_ANSWERED;
    begin(&f, dir, NO_CAP);
    ok(ask_many(&once, &f, 3) == ASK_STOPPED && co_alive() == 0,
       "work that is stopped ends when the replies under way are there");
    end(&f);
    begin(&g, dir, NO_CAP);
    twice.wide = 3;
    ok(ask_many(&twice, &g, 1) == ASK_STOPPED && twice.answered == 1,
       "it has the replies then");
    ok(g.provider->cancelled == 3 && g.provider->at_once == 0 &&
           co_alive() == 0,
       "stopped twice, it waits for none");
    end(&g);
    begin(&h, dir, NO_CAP);
    ok(ask_many(&rest, &h, 3) == ASK_DONE && h.provider->sent == 0,
       "what was answered is in the store");
    end(&h);
}

SUITE(ledger)
{
    log_set_level(LOG_QUIET);
    test_once();
    test_joined();
    test_passed_on();
    test_cancelled_while_storing();
    test_joined_ends();
    test_lost();
    test_failed();
    test_parked();
    test_reservation();
    test_reservation_returned();
    test_stop();
    test_many();
    test_many_below();
    test_many_stopped();
    log_set_level(LOG_INFO);
}
