/* quote.h: puts untrusted text on one line of output. Text from candidates,
 * compilers and packs must not control the terminal. */
#ifndef PACK_QUOTE_H
#define PACK_QUOTE_H

#include "base/buf.h"
#include "base/str.h"

/* Appends at most `max` characters of `s`; if it is cut, the last one is "…".
 * White space becomes a blank. Other control characters, and bytes that are not
 * UTF-8, become "?". */
void quote_add(struct buf *b, struct str s, size_t max);

#endif
