/* shows.h: attempts for people to read. A model wrote much of it, so each text
 * is indented, and the whole goes through term_quote() before it is printed. */
#ifndef CMD_SHOWS_H
#define CMD_SHOWS_H

#include "base/buf.h"
#include "run/attempt_view.h"

/* Longer lines are cut on a terminal. */
#define SHOWS_LONGEST 1000

/* A table with a line for each attempt. */
void shows_task(const struct attempt_list *t, struct buf *out);
/* Everything about one attempt. */
void shows_attempt(const struct attempt_list *t, const struct attempt_view *a,
                   struct buf *out);
/* The messages of a prompt, each below its role. */
void shows_prompt(const struct attempt_call *c, struct buf *out);

#endif
