/* price.h: what tokens cost. A price is a whole number of pico-dollars per token, that
 * is, dollars per million tokens with six decimal places. Money is never a floating-
 * point number, and costs are rounded up. */
#ifndef LLM_PRICE_H
#define LLM_PRICE_H

#include "base/err.h"
#include "llm/llm.h"

#include <stdbool.h>
#include <stdint.h>

struct price {
    bool known; /* otherwise a cost is tokens only */
    int64_t input, cached, written, output;
};

/* "IN,OUT[,CACHED]" in dollars per million tokens. */
int price_parse(const char *text, struct price *out, struct err *e);
/* Reads the section of a price file that names the model, or the longest prefix of its
 * name ("gpt-4o*"). When it is not listed, `known` is false. The whole file is
 * checked. */
int price_read(const char *path, const char *model, struct price *out,
               struct err *e);

/* All prices are 0. */
bool price_is_free(const struct price *p);
struct llm_cost price_of(const struct price *p, const struct llm_usage *u);
/* The most that so many tokens can cost, cached or not. */
struct llm_cost price_worst(const struct price *p, int64_t input,
                            int64_t output);

#endif
