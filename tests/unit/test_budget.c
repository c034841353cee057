/* test_budget.c: the ledger never holds more than its cap. */
#include "llm/budget.h"
#include "tap.h"

static struct llm_cost usd(int64_t micro)
{
    return (struct llm_cost){micro, 0};
}

static void test_cap(void)
{
    struct budget b;

    budget_init(&b, (struct llm_cost){100, 1000});
    ok(budget_reserve(&b, (struct llm_cost){100, 1000}),
       "all of a cap can be reserved");
    ok(!budget_reserve(&b, usd(1)), "not a micro-dollar more");
    ok(!budget_reserve(&b, (struct llm_cost){0, 1}), "not a token more");
    budget_settle(&b, (struct llm_cost){100, 1000}, (struct llm_cost){30, 999});
    ok(b.reserved.usd_micro == 0 && b.spent.usd_micro == 30 &&
           b.spent.tokens == 999,
       "settling gives the rest back");
    ok(!budget_reserve(&b, (struct llm_cost){10, 2}),
       "what fits in dollars but not in tokens does not fit");
    ok(b.reserved.usd_micro == 0 && b.reserved.tokens == 0,
       "a refusal changes nothing");
    ok(budget_reserve(&b, (struct llm_cost){70, 1}), "the rest fits exactly");
    budget_settle(&b, (struct llm_cost){70, 1}, (struct llm_cost){500, 1});
    ok(b.spent.usd_micro == 530, "what cost more is counted in full");
    ok(!budget_reserve(&b, usd(1)), "and nothing fits any more");
    ok(budget_reserve(&b, usd(0)) == false, "not even what is free");
}

static void test_no_cap(void)
{
    struct budget b;

    budget_init(&b, (struct llm_cost){BUDGET_NO_CAP, BUDGET_NO_CAP});
    ok(budget_reserve(&b, usd(INT64_MAX - 1)), "without a cap all fits");
    ok(budget_reserve(&b, usd(INT64_MAX - 1)), "twice");
    ok(b.reserved.usd_micro == INT64_MAX, "sums stop at the end of the range");
    budget_init(&b, usd(INT64_MAX - 1));
    ok(budget_reserve(&b, usd(INT64_MAX - 2)) && !budget_reserve(&b, usd(2)) &&
           budget_reserve(&b, usd(1)),
       "a huge cap holds, too");
    budget_init(&b, usd(0));
    ok(!budget_reserve(&b, usd(1)), "a cap of nothing lets nothing through");
}

static void test_waiting(void)
{
    struct budget b;

    budget_init(&b, usd(100));
    budget_reserve(&b, usd(80));
    b.live = usd(60);
    ok(budget_may_fit(&b, usd(80)), "what is live may come back");
    ok(!budget_may_fit(&b, usd(81)), "what nobody will settle does not");
}

static void test_news(void)
{
    struct budget b;

    budget_init(&b, (struct llm_cost){1000, BUDGET_NO_CAP});
    ok(budget_news(&b) == 0, "nothing spent is no news");
    b.spent.usd_micro = 499;
    ok(budget_news(&b) == 0, "below half is none");
    b.spent.usd_micro = 500;
    ok(budget_news(&b) == 50, "half is");
    ok(budget_news(&b) == 0, "once");
    b.spent.usd_micro = 900;
    ok(budget_news(&b) == 80, "then 80 percent");
    ok(budget_news(&b) == 0, "once");
    budget_init(&b, (struct llm_cost){BUDGET_NO_CAP, 10});
    b.spent = (struct llm_cost){1000000, 9};
    ok(budget_news(&b) == 80, "tokens count, and 50 is passed over");
    ok(budget_news(&b) == 0, "for good");
    budget_init(&b, (struct llm_cost){INT64_MAX - 1, 0});
    b.spent.usd_micro = INT64_MAX / 10 * 9;
    ok(budget_news(&b) == 80, "a huge cap has shares without overflow");
}

SUITE(budget)
{
    test_cap();
    test_no_cap();
    test_waiting();
    test_news();
}
