/* tick.c: the monotonic clock. */
#include "base/tick.h"

#include <time.h>

int64_t tick_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * TICK_S + t.tv_nsec;
}
