/* quote.h: foreign text on one line of ours. Candidates, compilers and packs
 * write what they like; a terminal must not obey it. */
#ifndef PACK_QUOTE_H
#define PACK_QUOTE_H

#include "base/buf.h"
#include "base/str.h"

/* Appends at most `max` characters of `s` (the last one is "…" when it was
 * cut). White space becomes a blank, any other control character or byte that
 * is not UTF-8 a "?". */
void quote_add(struct buf *b, struct str s, size_t max);

#endif
