/* py_kept.h: methods and launches that are kept in a variable, a list or an
 * object and called later: f = x.softmax; f(-1), or run = kernel[grid]; run(x).
 * Found backwards from the call, so that attributes which are only read cost
 * nothing and mean nothing. Private to the files behind py_facts.h. */
#ifndef LEX_PY_KEPT_H
#define LEX_PY_KEPT_H

#include "lex/py_origin.h"

struct py_kept;

struct py_kept *py_kept_new(const struct py_origins *o);
/* The attributes and subscripts that calling `node` may call in the end:
 * result[0..*count), until the next call. `node` itself is not among them if it
 * is `called` where it stands. Where there is too much to follow, the program
 * is `limited`. */
const uint32_t *py_kept_find(struct py_kept *k, uint32_t node, bool called,
                             uint32_t *count);

#endif
