/* rate.h: so many a minute, spread evenly: a token bucket that holds one
 * request. What does not fit now is told when it will; the caller waits. No
 * minute sees more requests than allowed, nor more tokens than allowed and one
 * request's. */
#ifndef LLM_RATE_H
#define LLM_RATE_H

#include <stdint.h>

struct rate {
    int64_t per_minute; /* 0: no limit */
    int64_t free_at_ns; /* when what was taken will have flowed off */
};

/* 0 when something may be taken now, else how long to wait. */
int64_t rate_wait_ns(const struct rate *r, int64_t now_ns);
/* Takes `n`; a negative `n` gives back what was not used. */
void rate_take(struct rate *r, int64_t n, int64_t now_ns);

#endif
