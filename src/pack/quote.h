/* quote.h: untrusted text in one line of output. What candidates, compilers and packs
 * write must not control the terminal. */
#ifndef PACK_QUOTE_H
#define PACK_QUOTE_H

#include "base/buf.h"
#include "base/str.h"

/* Appends at most `max` characters of `s` (the last one is "…" when it was
 * cut). White space becomes a blank, any other control character or byte that
 * is not UTF-8 a "?". */
void quote_add(struct buf *b, struct str s, size_t max);

#endif
