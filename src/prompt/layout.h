/* layout.h: what a finished guide is checked for. */
#ifndef PROMPT_LAYOUT_H
#define PROMPT_LAYOUT_H

#include "base/buf.h"
#include "base/str.h"
#include "prompt/sources.h"

/* One line for each finding is appended to `out`: a heading of the layout that
 * is missing, a length outside of half to twice `words`, and a name in
 * backticks that occurs in no source. Returns how many there are. */
size_t layout_check(struct str guide, const struct sources *s, int64_t words,
                    struct buf *out);

#endif
