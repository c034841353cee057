/* budget.h: a cap that is never passed. A call's worst case is reserved before
 * it is sent, and settled with what it really cost; spent + reserved never
 * exceeds the cap. The ledger is a plain value: who stores calls can rebuild it
 * (answered calls as spent, calls without an end as reserved). */
#ifndef LLM_BUDGET_H
#define LLM_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_NO_CAP INT64_MAX

struct llm_cost {
    int64_t usd_micro, tokens; /* tokens: in and out */
};

struct budget {
    struct llm_cost cap; /* BUDGET_NO_CAP: none */
    struct llm_cost spent, reserved;
    struct llm_cost live; /* of `reserved`, what calls under way will settle;
                             kept by who makes them */
    int announced;        /* 0, 50 or 80: what budget_news() has told */
};

/* Sum and difference; they stop at the ends of the range. */
struct llm_cost cost_add(struct llm_cost a, struct llm_cost b);
struct llm_cost cost_sub(struct llm_cost a, struct llm_cost b);

void budget_init(struct budget *b, struct llm_cost cap);
/* False when it does not fit; nothing is changed then. */
bool budget_reserve(struct budget *b, struct llm_cost worst);
/* Whether it would fit if all that is live settled for nothing: who gets false
 * need not wait. */
bool budget_may_fit(const struct budget *b, struct llm_cost worst);
/* Gives `reserved` back and takes `real`, which is at most that: more is a BUG
 * of the estimate, and counted in full. */
void budget_settle(struct budget *b, struct llm_cost reserved,
                   struct llm_cost real);
/* 50 or 80 once each, when that share of a cap is spent; else 0. */
int budget_news(struct budget *b);

#endif
