/* date.h: the calendar, for marks that people read. */
#ifndef BASE_DATE_H
#define BASE_DATE_H

#define DATE_SIZE 16

/* "2026-11-17", in UTC. */
void date_today(char out[DATE_SIZE]);

#endif
