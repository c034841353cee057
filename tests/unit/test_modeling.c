/* test_modeling.c: options to a client and a budget, and what is refused. */
#include "base/log.h"
#include "base/mem.h"
#include "llm/modeling.h"
#include "tap.h"

#include <string.h>

static struct modeling m;

/* 0, or -1 with the reason. */
static int try(struct modeling_values v, struct err *e)
{
    struct loop *l = loop_new(e);
    int rc;

    if (!l)
        BUG("%s", e->text);
    *e = (struct err)ERR_INIT;
    rc = modeling_read(&v, &m, e);
    if (rc == 0)
        rc = modeling_open(&v, &m, l, ".", e);
    modeling_close(&m);
    loop_free(l);
    return rc;
}

static void test_caps(void)
{
    struct modeling_values v = MODELING_DEFAULTS;
    struct err e;

    v.command = "true";
    ok(try(v, &e) == 0 && m.budget.cap.usd_micro == BUDGET_NO_CAP,
       "what costs nothing needs no cap");
    v.price = "1,2";
    ok(try(v, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "--budget-usd"),
       "what costs money does: %s", e.text);
    v.no_cap = true;
    ok(try(v, &e) == 0 && m.budget.cap.usd_micro == BUDGET_NO_CAP,
       "or the word that there is none");
    v.budget_usd = "5";
    ok(try(v, &e) < 0 && e.kind == ERR_USAGE, "not both");
    v.no_cap = false;
    v.budget_usd = "12.345678";
    ok(try(v, &e) == 0 && m.budget.cap.usd_micro == 12345678,
       "dollars are exact");
    v.budget_usd = "12.3456789";
    ok(try(v, &e) < 0 && e.kind == ERR_USAGE, "or refused: %s", e.text);
    v.budget_usd = "-1";
    ok(try(v, &e) < 0 && e.kind == ERR_USAGE, "less than nothing is, too");
    v.budget_usd = "9223372036854.775807";
    ok(try(v, &e) < 0, "a cap is never no cap by its size");
    v.budget_usd = "0";
    v.budget_tokens = 0;
    ok(try(v, &e) == 0 && m.budget.cap.usd_micro == 0 &&
           m.budget.cap.tokens == 0,
       "a cap of nothing is one");
    v.price = "0,0";
    v.budget_usd = NULL;
    ok(try(v, &e) == 0, "a price of nothing needs no cap");
    v.budget_usd = "1";
    ok(try(v, &e) == 0, "but may have one");
}

static void test_settings(void)
{
    struct modeling_values v = MODELING_DEFAULTS;
    struct err e;

    v.spool = "/tmp/test-modeling-spool";
    v.command = NULL;
    ok(modeling_read(&v, &m, &e) == 0 && m.opts.in_flight == 0 &&
           strcmp(m.opts.provider, "spool") == 0,
       "a folder may have any number of requests");
    v.in_flight = 3;
    ok(modeling_read(&v, &m, &e) == 0 && m.opts.in_flight == 3,
       "unless it is said");
    v.spool = NULL;
    v.command = "true";
    v.in_flight = -1;
    v.temperature = "0.7";
    ok(modeling_read(&v, &m, &e) == 0 && m.opts.in_flight == 16 &&
           m.opts.temperature > 0.69 && m.opts.temperature < 0.71,
       "a command is started 16 times at once");
    v.temperature = "11";
    ok(modeling_read(&v, &m, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
    v.temperature = NULL;
    ok(modeling_read(&v, &m, &e) == 0 && m.opts.temperature < 0,
       "a temperature that is not given is not sent");
    v.extra = "{\"top_p\": 0.9}";
    ok(modeling_read(&v, &m, &e) == 0, "more fields are an object");
    v.extra = "{\"top_p\": ";
    ok(modeling_read(&v, &m, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
}

/* `given` anew beside `v`. */
static struct modeling_values renewed(struct modeling_values v,
                                      struct modeling_values given)
{
    modeling_renew(&v, &given);
    return v;
}

static void test_renewed(void)
{
    struct modeling_values v = {.command = "true", .price = "1,2"}, r;

    r = renewed(v, (struct modeling_values){.model = "other"});
    ok(r.command && r.price, "another model leaves who answers");
    r = renewed(v, (struct modeling_values){.spool = "folder"});
    ok(!r.command && r.price, "a folder takes a command's place");
    r = renewed(v, (struct modeling_values){.provider = "exec"});
    ok(r.command != NULL, "its own provider leaves a command");
    r = renewed(v, (struct modeling_values){.provider = "openai"});
    ok(!r.command, "another does not");
    v = (struct modeling_values){.provider = "spool", .spool = "folder"};
    r = renewed(v, (struct modeling_values){.base_url = "http://x"});
    ok(!r.spool && !r.provider, "an address takes a folder's place");
    v = (struct modeling_values){.provider = "anthropic", .price = "0,0"};
    r = renewed(v, (struct modeling_values){.base_url = "http://x"});
    ok(r.provider && !r.price,
       "… and leaves the provider, but not that it is free");
    v = (struct modeling_values){.no_cap = true};
    r = renewed(v, (struct modeling_values){.budget_usd = "1"});
    ok(!r.no_cap, "a cap takes the place of none");
    v = (struct modeling_values){.budget_usd = "1"};
    r = renewed(v, (struct modeling_values){.no_cap = true});
    ok(!r.budget_usd, "… and the other way round");
}

static void test_news(void)
{
    struct modeling_values v = MODELING_DEFAULTS;
    struct err e;

    v.command = "true";
    v.budget_tokens = 100;
    modeling_read(&v, &m, &e);
    log_set_level(LOG_QUIET);
    ok(!modeling_news(&m), "nothing spent is no news");
    m.budget.spent.tokens = 50;
    ok(modeling_news(&m) && !modeling_news(&m), "half is, once");
    log_set_level(LOG_INFO);
}

SUITE(modeling)
{
    test_caps();
    test_settings();
    test_renewed();
    test_news();
}
