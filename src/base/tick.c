/* tick.c: the monotonic clock, and that of a thread. */
#include "base/tick.h"

#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * TICK_S + t.tv_nsec;
}

int64_t tick_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t tick_used_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
