/* form.h: the text a rule searches. A form is built from a source and maps each
 * of its bytes back to the source. docs/PACKS.md describes each form. */
#ifndef SOURCE_FORM_H
#define SOURCE_FORM_H

#include "base/arena.h"
#include "base/str.h"
#include "source/py_lex.h"

#include <stddef.h>
#include <stdint.h>

enum form_kind { FORM_CODE, FORM_ALL, FORM_CUT };
#define FORM_KINDS 3

struct form {
    char *data; /* `len` bytes; NUL-terminated (form_all: if the source is) */
    size_t len;
    uint32_t *origin; /* source offset of each byte; NULL: the same offset */
};

extern const char *const form_names[FORM_KINDS]; /* "code", … */

/* All live in `a`; form_all only borrows the source. */
void form_code(struct form *v, const struct py_tokens *t, struct arena *a);
void form_all(struct form *v, struct str src);
void form_cut(struct form *v, struct str src, struct arena *a);

#endif
