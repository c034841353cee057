/* traces.h: the trace of a candidate for people: what it launches, on how large
 * a grid, and how much memory that touches at least. */
#ifndef CMD_TRACES_H
#define CMD_TRACES_H

#include "base/buf.h"
#include "base/json.h"

/* The lines for the `trace` of a record (docs/PROTOCOL.md, Answers), each after
 * four blanks. A record without one (nothing was recorded) has one line, too. */
void traces_put(const json_t *trace, struct buf *out);

#endif
