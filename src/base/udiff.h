/* udiff.h: two texts compared line by line, in the format of `diff -u`. */
#ifndef BASE_UDIFF_H
#define BASE_UDIFF_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the hunks that turn `a` into `b`, with three lines of context and the
 * two names in front; nothing when the texts are the same. Of texts that have
 * very little in common, the whole middle is replaced. */
void udiff_put(struct str a, const char *a_name, struct str b,
               const char *b_name, struct buf *out);

#endif
