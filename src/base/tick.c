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

/* ---- the clock on the wall ---- */

int64_t date_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The day of a time in microseconds since 1970. */
static void date_of(int64_t us, char out[DATE_SIZE])
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm t;

    gmtime_r(&seconds, &t);
    strftime(out, DATE_SIZE, "%Y-%m-%d", &t);
}

void date_today(char out[DATE_SIZE])
{
    date_of(date_now_us(), out);
}
