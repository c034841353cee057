/* budget.h: a cap. The worst case of a call is reserved before it is sent and settled
 * with the real cost. Nothing is reserved that would exceed the cap, so only a provider
 * that bills more tokens than the limit of a request can exceed it.
 * The budget is a plain value, which can be rebuilt from stored calls: answered ones
 * are spent, unfinished ones are reserved. */
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
    struct llm_cost live; /* the part of `reserved` that calls in flight will
                             settle; kept by llm.c */
    int announced;        /* 0, 50 or 80: what budget_news() has reported */
};

/* Sum and difference, saturating. */
struct llm_cost cost_add(struct llm_cost a, struct llm_cost b);
struct llm_cost cost_sub(struct llm_cost a, struct llm_cost b);

void budget_init(struct budget *b, struct llm_cost cap);
/* False, and nothing is reserved, when it does not fit. */
bool budget_reserve(struct budget *b, struct llm_cost worst);
/* Whether it would fit if all calls in flight turned out to cost nothing: if not,
 * waiting is pointless. */
bool budget_may_fit(const struct budget *b, struct llm_cost worst);
/* Releases `reserved` and spends `real`, which is counted in full even if it is
 * more. */
void budget_settle(struct budget *b, struct llm_cost reserved,
                   struct llm_cost real);
/* 50 or 80, once each, when that percentage of a cap is spent; else 0. */
int budget_news(struct budget *b);

#endif
