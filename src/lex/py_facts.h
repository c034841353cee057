/* py_facts.h: what a Python program does, a line for each thing, aliases
 * resolved and each line under the context it runs in. docs/PACKS.md lists
 * contexts and kinds. Rules are patterns over these lines. */
#ifndef LEX_PY_FACTS_H
#define LEX_PY_FACTS_H

#include "base/arena.h"
#include "lex/py_lex.h"
#include "lex/view.h"

#include <stddef.h>

/* What the analysis must be told about a language; the strings are borrowed
 * full dotted names. */
struct py_facts_config {
    const char *const *kernel_decorators; /* NULL-terminated, as the others */
    const char *const *kernel_openers;
    const char *const *build_calls;
};

/* `facts` is the facts view, `cxx` the C or C++ text that reaches a build call
 * (empty when there is none). Both live in `a`. */
void py_facts(struct view *facts, struct view *cxx, struct str src,
              const struct py_tokens *t, const struct py_facts_config *cfg,
              struct arena *a);

#endif
