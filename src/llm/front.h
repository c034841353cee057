/* front.h: opens the client with a given provider and rules. llm_open() derives them
 * from the options; tests bring their own. */
#ifndef LLM_FRONT_H
#define LLM_FRONT_H

#include "llm/llm.h"
#include "llm/price.h"
#include "llm/provider.h"

struct llm_rules {
    int64_t max_tokens; /* default for an answer; > 0 */
    int64_t in_flight;  /* calls at once; 0: any number */
    int retries;        /* per call, after the first request */
    int64_t requests_per_minute, tokens_per_minute; /* 0: no limit */
    int64_t backoff_base_ns, backoff_cap_ns;
    int pause_after; /* failures in a row; 0: never pauses */
    int64_t pause_ns;
    const char *model; /* for recordings; may be NULL */
};

/* 1 s to 60 s between requests; a pause of 30 s after 10 failures. */
extern const struct llm_rules llm_default_rules;

/* Takes the provider. */
struct llm *llm_new(struct loop *l, struct provider *p,
                    const struct llm_rules *rules, const struct price *price,
                    struct budget *budget);

#endif
