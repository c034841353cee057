/* operators.h: the operators that a PyTorch program uses, by the names that torch
 * has for them: functions of torch and torch.nn.functional, layers of torch.nn,
 * methods of whatever was not imported, and symbols: `a * b + c` is add and mul.
 *
 * Read from the tokens alone. Imported names are known by the file's import
 * statements; nothing is followed through variables. Symbols count in functions
 * except __init__, outside of conditions and subscripts, where Python computes
 * with numbers. */
#ifndef FACTS_OPERATORS_H
#define FACTS_OPERATORS_H

#include "base/arena.h"
#include "lex/py_lex.h"

/* Sorted, each once, NULL-terminated, in `a`. get_inputs(), get_init_inputs() and
 * what runs only as a main program do not count. */
const char **operators_of(const struct py_tokens *t, struct arena *a);

#endif
