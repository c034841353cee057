/* date.h: the calendar, for marks that people read. */
#ifndef BASE_DATE_H
#define BASE_DATE_H

#include <stdint.h>

#define DATE_SIZE 16

/* "2026-11-17", in UTC. */
void date_today(char out[DATE_SIZE]);
/* The day of a time in microseconds since 1970. */
void date_of(int64_t us, char out[DATE_SIZE]);
int64_t date_now_us(void);

#endif
