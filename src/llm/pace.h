/* pace.h: when the next request may be sent: rate limits, the wait before a retry, and
 * when to stop sending. Plain values: the caller passes the time. */
#ifndef LLM_PACE_H
#define LLM_PACE_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* A rate limit per minute, spread evenly: a token bucket that holds one request. No
 * minute has more requests than allowed, nor more tokens than allowed plus those of
 * one request. */
struct rate {
    int64_t per_minute; /* 0: no limit */
    int64_t free_at_ns; /* when the bucket will be empty again */
};

/* 0 when something may be taken now, else how long to wait. */
int64_t rate_wait_ns(const struct rate *r, int64_t now_ns);
/* Takes `n`; a negative `n` gives back what was not used. */
void rate_take(struct rate *r, int64_t n, int64_t now_ns);

/* Doubles with every failure of a call (from 1) up to the cap. Half of it is random, so
 * that calls that failed together are not retried together. Never shorter than the
 * provider asked for. */
struct backoff {
    int64_t base_ns, cap_ns;
    struct rng rng;
};
int64_t backoff_ns(struct backoff *b, int failures, int64_t retry_after_ns);

/* Opens after `after` failures in a row, of any calls. Then nothing is sent for
 * `pause_ns`, then one call, the test, whose result decides. The pause doubles while
 * tests fail, up to 16 times. */
enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_PROBING };
struct breaker {
    int after; /* 0: never opens */
    int64_t pause_ns;
    enum breaker_state state;
    int failures, opened; /* in a row */
    int64_t until_ns;
};
/* 0: send now; > 0: wait that long; < 0: wait for the test. */
int64_t breaker_wait_ns(const struct breaker *b, int64_t now_ns);
/* Call when sending; true when it is the test. */
bool breaker_sent(struct breaker *b);
/* Call when it has ended; true when the state has changed. */
bool breaker_good(struct breaker *b);
bool breaker_bad(struct breaker *b, bool test, int64_t now_ns,
                 int64_t retry_after_ns);
/* The test was cancelled. */
void breaker_forget_test(struct breaker *b, int64_t now_ns);

#endif
