/* term.h: the progress of a long job, on stderr. On a terminal it is one line,
 * redrawn in place at most ten times a second, cut to the width, and removed at the
 * end. Elsewhere (a pipe, a file, TERM=dumb) it is a plain line every few seconds
 * and one at the end. A background job draws nothing.
 *
 * While it is open it is the log's writer (base/log.h), so that log lines and the
 * display never mix; only one may be open at a time. Nothing here fails: a display
 * that cannot be written is ignored. */
#ifndef IO_TERM_H
#define IO_TERM_H

#include "base/buf.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct term;

/* `total` 0: unknown. `done` is what an earlier run finished: it does not count
 * toward the speed. The caller keeps `fd`, which is usually 2. */
struct term *term_open(int fd, uint64_t total, uint64_t done,
                       const char *label);
/* `note` is copied; NULL keeps the last one. Control characters are not shown. */
void term_set(struct term *t, uint64_t done, const char *note);
/* For a timer: shows the time passing while nothing is finished. */
void term_tick(struct term *t);
/* Removes the line before something else is written to the screen; it returns with
 * the next change or tick. `t` may be NULL. */
void term_hide(struct term *t);
void term_close(struct term *t);

/* Appends "label 3/10 30% 1.5/s 5s left"; rate and time left only once they are
 * meaningful. */
struct term_state {
    const char *label;
    uint64_t total, done;
    uint64_t before; /* of `done`, what was there at the start */
    int64_t elapsed_ns;
};
void term_text(const struct term_state *s, struct buf *out);
/* Appends as much of `text` as fits into `columns`, in whole characters and without
 * control characters; returns the columns used. */
size_t term_cut(const char *text, size_t columns, struct buf *out);
/* Appends untrusted text for people to read. Lines and tabs stay. Whatever could
 * control the terminal or hide something (control and format characters, turns
 * of direction, bytes that are not UTF-8) is shown as <1B> or <U+202E>. A line
 * of more than `longest` bytes is cut, and a note says by how much. */
void term_quote(struct str text, size_t longest, struct buf *out);

#endif
