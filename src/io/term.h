/* term.h: how far a long job has come, on stderr. On a terminal it is one line
 * drawn again in place, at most ten times a second, cut to the width, gone at
 * the end. Elsewhere (a pipe, a file, TERM=dumb) it is a plain line every few
 * seconds, and the last state. A job in the background draws nothing.
 *
 * While it is open it is the log's writer (base/log.h), so that log lines and
 * the display never mix; so only one may be open at a time. Nothing here can
 * fail: a display that cannot be written is not worth stopping for. */
#ifndef IO_TERM_H
#define IO_TERM_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct term;

/* `total` 0: not known. `done` is what was there before, e.g. in a run that
 * goes on: it counts as done, not as speed. `fd` stays the caller's; normally
 * it is 2. */
struct term *term_open(int fd, uint64_t total, uint64_t done,
                       const char *label);
/* `note` says what is going on, copied; NULL keeps the last one. It may hold
 * anything: what could move the cursor is not shown. */
void term_set(struct term *t, uint64_t done, const char *note);
void term_step(struct term *t, const char *note); /* one more is done */
/* Shows time going by while nothing is done: for a timer. */
void term_tick(struct term *t);
/* Takes the line off the screen before something else is written there; it comes
 * back with the next change or tick. NULL is none. */
void term_hide(struct term *t);
void term_close(struct term *t);

/* The words, for who shows them elsewhere: appends "label 3/10 30% 1.5/s 5s
 * left"; rate and time only once they mean something. */
struct term_state {
    const char *label;
    uint64_t total, done;
    uint64_t before; /* of `done`, what was there at the start */
    int64_t elapsed_ns;
};
void term_text(const struct term_state *s, struct buf *out);
/* Appends what of `text` fits into `columns`, without control characters and
 * with whole characters only; returns the columns it takes. */
size_t term_cut(const char *text, size_t columns, struct buf *out);

#endif
