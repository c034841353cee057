/* tick.h: time that only goes forward, for deadlines and measurements. */
#ifndef BASE_TICK_H
#define BASE_TICK_H

#include <stdint.h>

#define TICK_MS ((int64_t)1000000)
#define TICK_S  ((int64_t)1000000000)

int64_t tick_now_ns(void); /* CLOCK_MONOTONIC */
/* What this thread has had of a processor: a busy machine takes none of it away. */
int64_t tick_used_ns(void);

/* ---- the calendar, for marks that people read ---- */

#define DATE_SIZE 16

/* "2026-11-17", in UTC. */
void date_today(char out[DATE_SIZE]);
int64_t date_now_us(void);

#endif
