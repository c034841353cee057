/* rx_join.h: many patterns as one, to be tried from line to line. What several
 * of them start with is written once, so that a line which none of them is
 * about is left after a few comparisons, however many patterns there are. */
#ifndef PACK_RX_JOIN_H
#define PACK_RX_JOIN_H

#include "base/buf.h"

#include <stddef.h>

/* Appends a pattern that matches where any of `patterns` does, for all of which
 * rx_starts_line() holds. */
void rx_join(struct buf *out, const char *const *patterns, size_t n);

#endif
