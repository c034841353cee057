/* operators.h: lists the operators that a PyTorch program uses, by torch's
 * names: functions of torch and torch.nn.functional, layers of torch.nn,
 * methods of anything that was not imported, and symbols: `a * b + c` is add
 * and mul.
 *
 * Only the tokens are read. Imported names come from the file's import
 * statements; variables are not followed. Symbols count in functions except
 * __init__, and not in conditions and subscripts, where Python computes with
 * numbers. */
#ifndef SOURCE_OPERATORS_H
#define SOURCE_OPERATORS_H

#include "base/arena.h"
#include "source/py_lex.h"

/* Sorted, without duplicates, NULL-terminated, in `a`. Ignores get_inputs(),
 * get_init_inputs() and code that runs only as a main program. */
const char **operators_of(const struct py_tokens *t, struct arena *a);
/* The same in the order in which the program computes them, duplicates kept: a
 * layer stands where it is called, an argument before the call. */
const char **operators_chain(const struct py_tokens *t, struct arena *a);

#endif
