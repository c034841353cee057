/* view.h: the text a rule searches. A view is built from a source and maps each
 * of its bytes back to the source. docs/PACKS.md describes each view. */
#ifndef FACTS_VIEW_H
#define FACTS_VIEW_H

#include "base/arena.h"
#include "base/str.h"
#include "lex/py_lex.h"

#include <stddef.h>
#include <stdint.h>

enum view_kind { VIEW_CODE, VIEW_ALL, VIEW_CUT };
#define VIEW_KINDS 3

struct view {
    char *data; /* `len` bytes; NUL-terminated (view_all: if the source is) */
    size_t len;
    uint32_t *origin; /* source offset of each byte; NULL: the same offset */
};

extern const char *const view_names[VIEW_KINDS]; /* "code", … */

/* All live in `a`; view_all only borrows the source. */
void view_code(struct view *v, const struct py_tokens *t, struct arena *a);
void view_all(struct view *v, struct str src);
void view_cut(struct view *v, struct str src, struct arena *a);

#endif
