/* py_normal.h: hashes a Python source without comments, docstrings and white
 * space, so that two copies of a program have the same hash; removes what only
 * people read. */
#ifndef SOURCE_PY_NORMAL_H
#define SOURCE_PY_NORMAL_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "source/py_lex.h"

#include <stdbool.h>

/* The tokens must not have a problem. */
void py_normal_hash_tokens(const struct py_tokens *t, char hash[HASH_HEX]);
/* The same for text; text that cannot be tokenized is hashed as is. */
void py_normal_hash(struct str code, char hash[HASH_HEX]);
/* The same without the names of variables and arguments: two programs that
 * differ in these alone have the same hash. Attributes count. */
void py_normal_hash_renamed(struct str code, char hash[HASH_HEX]);

/* The source without comments, strings that are statements of their own, and
 * the blank lines they leave. A suite that would become empty gets a `pass`.
 * With `cxx`, also drops the comments of C or C++ source in triple-quoted
 * strings. The program behaves as before. Text that cannot be tokenized is
 * returned as is. */
struct str py_strip(struct str code, bool cxx, struct arena *a);

#endif
