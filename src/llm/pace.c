/* pace.c: the bucket as one point in time, back-off and circuit breaker. */
#include "llm/pace.h"

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

int64_t backoff_ns(struct backoff *b, int failures, int64_t retry_after_ns)
{
    int64_t step = b->base_ns;

    for (int i = 1; i < failures && step < b->cap_ns; i++)
        step *= 2;
    if (step > b->cap_ns)
        step = b->cap_ns;
    step = step / 2 + (int64_t)rng_below(&b->rng, (uint64_t)(step / 2 + 1));
    return step > retry_after_ns ? step : retry_after_ns;
}

int64_t breaker_wait_ns(const struct breaker *b, int64_t now_ns)
{
    if (b->state == BREAKER_CLOSED)
        return 0;
    if (b->state == BREAKER_PROBING)
        return -1;
    return b->until_ns > now_ns ? b->until_ns - now_ns : 0;
}

bool breaker_sent(struct breaker *b)
{
    if (b->state != BREAKER_OPEN)
        return false;
    b->state = BREAKER_PROBING;
    return true;
}

bool breaker_good(struct breaker *b)
{
    bool changed = b->state != BREAKER_CLOSED;

    b->state = BREAKER_CLOSED;
    b->failures = b->opened = 0;
    return changed;
}

bool breaker_bad(struct breaker *b, bool test, int64_t now_ns,
                 int64_t retry_after_ns)
{
    int64_t pause = b->pause_ns;

    b->failures++;
    if (!b->after || b->failures < b->after)
        return false;
    /* Calls sent before the pause do not count. */
    if (b->state != BREAKER_CLOSED && !test)
        return false;
    for (int i = 0; i < b->opened && i < 4; i++)
        pause *= 2;
    if (pause < retry_after_ns)
        pause = retry_after_ns;
    b->opened++;
    b->state = BREAKER_OPEN;
    b->until_ns = now_ns + pause;
    return true;
}

void breaker_forget_test(struct breaker *b, int64_t now_ns)
{
    if (b->state != BREAKER_PROBING)
        return;
    b->state = BREAKER_OPEN;
    b->until_ns = now_ns;
}
