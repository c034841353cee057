/* date.c: today. */
#include "base/date.h"

#include <time.h>

void date_today(char out[DATE_SIZE])
{
    time_t now = time(NULL);
    struct tm t;

    gmtime_r(&now, &t);
    strftime(out, DATE_SIZE, "%Y-%m-%d", &t);
}
