/* looking.h: list, peek and grep: what a reader finds in its documents without
 * a call. */
#ifndef PROMPT_LOOKING_H
#define PROMPT_LOOKING_H

#include "base/buf.h"
#include "prompt/action.h"
#include "prompt/sources.h"

#include <stdbool.h>
#include <stdint.h>

struct looking {
    const struct sources *sources;
    const struct span *only; /* what the reader may see; NULL: everything */
    int64_t tokens;          /* of one result, about */
};

/* The lines that an action names, cut to what the reader may see; false when
 * there are none. */
bool looking_span(const struct looking *l, const struct action *a,
                  struct span *out);
/* Appends the result, or why there is none. Its first line says what was asked.
 * An ACTION_ASK comes here only when its span does not exist. */
void looking_do(const struct looking *l, const struct action *a,
                struct buf *out);

#endif
