/* py_normal.h: hashes a Python source without comments, docstrings and white
 * space, so that two copies of a program have the same hash. */
#ifndef SOURCE_PY_NORMAL_H
#define SOURCE_PY_NORMAL_H

#include "base/hash.h"
#include "base/str.h"
#include "source/py_lex.h"

/* The tokens must not have a problem. */
void py_normal_hash_tokens(const struct py_tokens *t, char hash[HASH_HEX]);
/* The same for text; text that cannot be tokenized is hashed as is. */
void py_normal_hash(struct str code, char hash[HASH_HEX]);
/* The same without the names of variables and arguments: two programs that
 * differ in these alone have the same hash. Attributes count. */
void py_normal_hash_renamed(struct str code, char hash[HASH_HEX]);

#endif
