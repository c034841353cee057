/* price.h: what tokens cost. A price is a whole number of pico-dollars a token,
 * which is dollars for a million tokens with six decimal places: no floating
 * point touches money, and a cost is rounded up. */
#ifndef LLM_PRICE_H
#define LLM_PRICE_H

#include "base/err.h"
#include "llm/llm.h"

#include <stdbool.h>
#include <stdint.h>

struct price {
    bool known; /* else a cost is tokens alone */
    int64_t input, cached, written, output;
};

/* "IN,OUT[,CACHED]" in dollars for a million tokens. */
int price_parse(const char *text, struct price *out, struct err *e);
/* The section of a price file that names the model, or the longest that is the
 * beginning of its name ("gpt-4o*"). Not listed is not an error: `known` is
 * false then. The whole file is checked. */
int price_read(const char *path, const char *model, struct price *out,
               struct err *e);

/* Nothing costs anything. */
bool price_is_free(const struct price *p);
struct llm_cost price_of(const struct price *p, const struct llm_usage *u);
/* At most this for so many tokens in and out, whatever was cached. */
struct llm_cost price_worst(const struct price *p, int64_t input,
                            int64_t output);

#endif
