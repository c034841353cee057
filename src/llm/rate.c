/* rate.c: the bucket as one point in time. */
#include "llm/rate.h"

#include "base/tick.h"

int64_t rate_wait_ns(const struct rate *r, int64_t now_ns)
{
    return r->per_minute > 0 && r->free_at_ns > now_ns ? r->free_at_ns - now_ns
                                                       : 0;
}

void rate_take(struct rate *r, int64_t n, int64_t now_ns)
{
    const int64_t most = INT64_MAX / (60 * TICK_S);

    if (r->per_minute <= 0)
        return;
    if (n > most)
        n = most;
    if (n < -most)
        n = -most;
    if (n > 0 && r->free_at_ns < now_ns)
        r->free_at_ns = now_ns;
    r->free_at_ns += n * (60 * TICK_S) / r->per_minute;
}
