/* test_price.c: prices are exact, and a cost is never rounded down. */
#include "base/str.h"
#include "llm/price.h"
#include "scratch.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void test_decimal(void)
{
    int64_t v = -1;

    ok(str_to_fixed(STR_LIT("2.5"), 6, &v) && v == 2500000, "2.5");
    ok(str_to_fixed(STR_LIT("0.000001"), 6, &v) && v == 1, "0.000001");
    ok(str_to_fixed(STR_LIT(".5"), 6, &v) && v == 500000, ".5");
    ok(str_to_fixed(STR_LIT("7."), 6, &v) && v == 7000000, "7.");
    ok(str_to_fixed(STR_LIT("1.2500000000"), 6, &v) && v == 1250000,
       "zeros behind the last place");
    ok(!str_to_fixed(STR_LIT("0.0000001"), 6, &v), "a place too many");
    ok(str_to_fixed(STR_LIT("0.10"), 1, &v) && v == 1, "one place");
    ok(str_to_fixed(STR_LIT("9223372036854.775807"), 6, &v) && v == INT64_MAX,
       "the largest there is");
    ok(!str_to_fixed(STR_LIT("9223372036854.775808"), 6, &v), "and one more");
    ok(!str_to_fixed(STR_LIT("99999999999999999999"), 6, &v), "far too many");
    for (size_t i = 0; i < 9; i++) {
        static const char *const bad[] = {"",    ".",     "-1",  "+1", "1e3",
                                          "1,5", "1.2.3", "0x1", " 1"};

        ok(!str_to_fixed(str_of(bad[i]), 6, &v), "'%s' is no number", bad[i]);
    }
}

static void test_cost(void)
{
    struct price p;
    struct err e = ERR_INIT;
    struct llm_usage u = {.input = 1000, .output = 100};
    struct llm_cost c;

    ok(price_parse("2.50,10", &p, &e) == 0, "IN,OUT is a price");
    c = price_of(&p, &u);
    ok(c.usd_micro == 3500 && c.tokens == 1100, "1000 in and 100 out");
    u.cached = 400;
    ok(price_of(&p, &u).usd_micro == 3500, "cached is as dear as input");
    ok(price_parse("2.50,10,0.25", &p, &e) == 0, "IN,OUT,CACHED is one");
    ok(price_of(&p, &u).usd_micro == 1500 + 100 + 1000, "cached is cheaper");
    p.written = 3125000;
    u.written = 100;
    ok(price_of(&p, &u).usd_micro == 1250 + 100 + 313 + 1000,
       "what is written to the cache has its price, rounded up");
    u = (struct llm_usage){.input = 1};
    price_parse("0.000001,0", &p, &e);
    ok(price_of(&p, &u).usd_micro == 1, "a pico-dollar is a micro-dollar");
    ok(!price_is_free(&p), "which is not free");
    price_parse("0,0", &p, &e);
    ok(price_is_free(&p) && price_of(&p, &u).usd_micro == 0, "0,0 is free");
    p = (struct price){0};
    ok(price_of(&p, &u).usd_micro == 0 && price_of(&p, &u).tokens == 1,
       "without a price tokens are counted");
    ok(!price_is_free(&p), "which does not make it free");
    price_parse("99999,99999", &p, &e);
    u = (struct llm_usage){.input = INT64_MAX / 2, .output = INT64_MAX / 2};
    ok(price_of(&p, &u).usd_micro > 0, "no bill is large enough to wrap");
    for (size_t i = 0; i < 6; i++) {
        static const char *const bad[] = {"",        "1",    "1,x",
                                          "1,2,3,4", "-1,2", "100001,1"};

        ok(price_parse(bad[i], &p, &e) < 0 && e.kind == ERR_USAGE,
           "'%s' is no price", bad[i]);
    }
}

/* Whatever a provider reports within the bounds costs at most the worst case. */
static void test_worst(void)
{
    struct price p = {true, 2500000, 3000001, 3125000, 10000000};
    bool below = true;

    for (int64_t i = 0; i <= 50; i++)
        for (int64_t c = 0; c <= i; c++)
            for (int64_t o = 0; o <= 20; o += 7) {
                struct llm_usage u = {.input = i,
                                      .cached = c / 2,
                                      .written = c - c / 2,
                                      .output = o};
                struct llm_cost real = price_of(&p, &u),
                                worst = price_worst(&p, 50, 20);

                below &= real.usd_micro <= worst.usd_micro &&
                         real.tokens <= worst.tokens;
            }
    ok(below, "no usage within the bounds costs more than the worst case");
}

/* ---- files ---- */

static struct price look_up(const char *text, const char *model, struct err *e)
{
    struct price p = {0};

    *e = (struct err)ERR_INIT;
    price_read(scratch_put(scratch_dir(), "prices.ini", text), model, &p, e);
    return p;
}

static void test_file(void)
{
    static const char good[] = "; all of them\n"
                               "[gpt*]\ninput = 9\noutput = 9\n"
                               "[gpt-4o*]\ninput = 2.50\noutput = 10\n"
                               "cached = 1.25\n"
                               "[gpt-4o-mini]\ninput = 0.15\noutput = 0.60\n"
                               "cache_write = 0.2\n";
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"[m]\ninput = 1\n", "needs input and output"},
        {"[m]\ninput = 1\noutput = x\n", ":3: [m] output = x"},
        {"[m]\ninput = 1\ninput = 2\noutput = 1\n", ":3: [m] input"},
        {"[m]\ninput = 1\noutput = 1\nimput = 2\n", ":4: [m]: unknown line"},
        {"input = 1\n", ":1: a line before the first"},
        {"[m]\nnonsense\n", ":2: "},
        {"[a-name-of-a-model-that-is-longer-than-any-model-would-ever-have-"
         "unless-somebody-had-pasted-a-whole-paragraph-of-text-into-the-"
         "section-by-mistake*]\n"
         "input = 1\noutput = 1\n",
         "longer than"},
    };
    struct price p;
    struct err e;

    p = look_up(good, "gpt-4o-mini", &e);
    ok(p.known && p.input == 150000 && p.cached == 150000 &&
           p.written == 200000,
       "a name beats every beginning");
    p = look_up(good, "gpt-4o-mini-2024", &e);
    ok(p.input == 2500000 && p.cached == 1250000 && p.written == 2500000,
       "the longest beginning counts");
    p = look_up(good, "gpt-3", &e);
    ok(p.input == 9000000, "a short one is better than none");
    p = look_up(good, "llama", &e);
    ok(!p.known && e.kind == ERR_NONE, "not listed is not an error");
    p = look_up(good, NULL, &e);
    ok(!p.known && e.kind == ERR_NONE, "no model has no price");
    for (size_t i = 0; i < COUNT(bad); i++) {
        look_up(bad[i].text, "gpt-4o", &e);
        ok(e.kind == ERR_INPUT && strstr(e.text, bad[i].why), "refused: %s",
           e.text);
    }
}

static void test_shipped(void)
{
    struct price p;
    struct err e = ERR_INIT;

    ok(price_read("prices.ini", "gpt-4o-2024-08-06", &p, &e) == 0 && p.known &&
           p.cached < p.input,
       "the shipped file is valid %s", e.text);
    price_read("prices.ini", "gpt-5.4", &p, &e);
    ok(!p.known, "its gpt-5 is not gpt-5.4");
    price_read("prices.ini", "claude-sonnet-5", &p, &e);
    ok(p.written > p.input, "writing to a cache can cost more than reading");
}

SUITE(price)
{
    test_decimal();
    test_cost();
    test_worst();
    test_file();
    test_shipped();
}
