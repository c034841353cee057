/* template.h: text with slots {{name}} and sections {{#name}} … {{/name}}. A
 * section is left out when its name has no value; a slot without a value leaves
 * nothing. If a section's mark is alone on its line, the line disappears.
 *
 * A file is parsed once and checked against the names it is declared to take:
 * a name it does not take, a name it takes and does not use, and a section that
 * is not closed are errors with file and line. */
#ifndef PROMPT_TEMPLATE_H
#define PROMPT_TEMPLATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* All names there are; a template's are a bit each. */
struct template_names {
    const char *const *name;
    size_t len; /* at most 64 */
};

struct template;

struct template *template_load(const char *path, struct template_names names,
                               uint64_t takes, struct err *e);
/* The same for text that is there already; `file` is for errors. */
struct template *template_parse(const char *file, struct str text,
                                struct template_names names, uint64_t takes,
                                struct err *e);
void template_free(struct template *t);

/* The text with `values` (by number of the name; p NULL: no value) filled in,
 * behind `before` and a blank line where that is not empty; line ends at the
 * end are dropped, a NUL stands behind it. */
struct str template_render(const struct template *t, struct str before,
                           const struct str *values, struct arena *a);
/* How far into that text (without `before`) the value of `name` reaches: what
 * is behind does not depend on it. */
size_t template_behind(const struct template *t, const struct str *values,
                       size_t name);

#endif
