/* py_normal.h: what of a Python source is no part of what it does: comments,
 * docstrings, white space. Two copies of one program have one hash. */
#ifndef FACTS_PY_NORMAL_H
#define FACTS_PY_NORMAL_H

#include "base/hash.h"
#include "base/str.h"
#include "lex/py_lex.h"

/* Of tokens without a problem. */
void py_normal_hash_tokens(const struct py_tokens *t, char hash[HASH_HEX]);
/* The same of a text; one that cannot be tokenized is hashed as it is. */
void py_normal_hash(struct str code, char hash[HASH_HEX]);

#endif
