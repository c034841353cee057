/* rate.h: a rate limit per minute, spread evenly: a token bucket that holds one
 * request. The caller waits as long as it is told. No minute has more requests than
 * allowed, nor more tokens than allowed plus those of one request. */
#ifndef LLM_RATE_H
#define LLM_RATE_H

#include <stdint.h>

struct rate {
    int64_t per_minute; /* 0: no limit */
    int64_t free_at_ns; /* when the bucket will be empty again */
};

/* 0 when something may be taken now, else how long to wait. */
int64_t rate_wait_ns(const struct rate *r, int64_t now_ns);
/* Takes `n`; a negative `n` gives back what was not used. */
void rate_take(struct rate *r, int64_t n, int64_t now_ns);

#endif
