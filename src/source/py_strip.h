/* py_strip.h: removes what only human readers need from a Python source. */
#ifndef SOURCE_PY_STRIP_H
#define SOURCE_PY_STRIP_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

/* The source without comments, strings that are statements of their own, and
 * the blank lines they leave. A suite that would become empty gets a `pass`.
 * With `cxx`, also drops the comments of C or C++ source in triple-quoted
 * strings. The program behaves as before. Text that cannot be tokenized is
 * returned as is. */
struct str py_strip(struct str code, bool cxx, struct arena *a);

#endif
