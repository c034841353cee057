/* hint.h: advice for the model about an error message. A pack lists patterns with a
 * hint each; the first that matches wins. */
#ifndef PACK_HINT_H
#define PACK_HINT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "pack/problems.h"
#include "pack/rx.h"

#include <stdbool.h>
#include <stddef.h>

enum hint_stage {
    HINT_PARSE,
    HINT_CHECK,
    HINT_COMPILE,
    HINT_LAUNCH,
    HINT_RUN,
    HINT_NUMERIC,
    HINT_ANY, /* for hint_find() */
};
#define HINT_STAGES 6
extern const char *const hint_stages[HINT_STAGES]; /* "parse", … */

struct hint {
    const char *id, *text, *cite; /* borrowed from the JSON; cite may be NULL */
    enum hint_stage stage;
    struct rx *rx;
};

struct hints {
    struct hint *hint;
    size_t len;
};

/* Compiles a list that the schema has accepted; the JSON must outlive the
 * hints. False, with a line for each bad one; release it in any case. */
bool hints_init(struct hints *h, const json_t *list, const char *file,
                struct problems *out);
void hints_release(struct hints *h);

/* The first hint of the stage that matches, its text with $1 … filled in
 * appended to `out`; NULL when none does. `text` may be any bytes. */
const struct hint *hint_find(const struct hints *h, struct rx_ctx *c,
                             enum hint_stage stage, struct str text,
                             struct buf *out);

#endif
