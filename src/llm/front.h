/* front.h: the front without its options: any provider under any rules. What
 * llm_open() makes of the options, and what tests use with a provider and with
 * waits of their own. */
#ifndef LLM_FRONT_H
#define LLM_FRONT_H

#include "llm/llm.h"
#include "llm/price.h"
#include "llm/provider.h"

struct llm_rules {
    int64_t max_tokens; /* of an answer whose request does not say; > 0 */
    int64_t in_flight;  /* calls at once; 0: any number */
    int retries;        /* a call makes at most one request more than these */
    int64_t requests_per_minute, tokens_per_minute; /* 0: no limit */
    int64_t backoff_base_ns, backoff_cap_ns;
    int pause_after; /* failures in a row; 0: never pauses */
    int64_t pause_ns;
    const char *model; /* noted in recordings; may be NULL */
};

/* 1 s to 60 s between requests; a pause of 30 s after 10 failures. */
extern const struct llm_rules llm_default_rules;

/* Takes the provider. */
struct llm *llm_new(struct loop *l, struct provider *p,
                    const struct llm_rules *rules, const struct price *price,
                    struct budget *budget);

#endif
