/* tick.h: time that only goes forward, for deadlines and measurements. */
#ifndef BASE_TICK_H
#define BASE_TICK_H

#include <stdint.h>

#define TICK_MS ((int64_t)1000000)
#define TICK_S  ((int64_t)1000000000)

int64_t tick_now_ns(void); /* CLOCK_MONOTONIC */
/* What this thread has had of a processor: a busy machine takes none of it away. */
int64_t tick_used_ns(void);

#endif
