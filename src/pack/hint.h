/* hint.h: advice for the model about an error message. A pack lists patterns,
 * each with a hint; the first match wins. */
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
 * hints. Returns false, with a line for each bad hint. Release it in either
 * case. */
bool hints_init(struct hints *h, const json_t *list, const char *file,
                struct problems *out);
void hints_release(struct hints *h);

/* The first matching hint of the stage, or NULL. Appends its text to `out`,
 * with $1 … filled in. `text` may be any bytes. */
const struct hint *hint_find(const struct hints *h, struct rx_ctx *c,
                             enum hint_stage stage, struct str text,
                             struct buf *out);

#endif
