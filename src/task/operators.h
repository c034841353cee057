/* operators.h: the operators that a PyTorch program calls, by name: functions
 * of torch and torch.nn.functional, layers of torch.nn, and methods of whatever
 * was not imported. Read from the tokens alone: names are known by the import
 * statements of the file, nothing is followed through variables. */
#ifndef TASK_OPERATORS_H
#define TASK_OPERATORS_H

#include "base/arena.h"
#include "lex/py_lex.h"

/* Sorted, each once, NULL-ended, in `a`. What makes a task's inputs, and what
 * only runs as a main program, does not count. */
const char **task_operators(const struct py_tokens *t, struct arena *a);

#endif
