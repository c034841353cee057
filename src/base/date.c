/* date.c: the clock on the wall. */
#include "base/date.h"

#include <time.h>

int64_t date_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void date_of(int64_t us, char out[DATE_SIZE])
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
