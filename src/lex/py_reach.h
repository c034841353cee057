/* py_reach.h: in which context each function runs, by what can be reached from
 * the module, from ModelNew.__init__, from its other methods, and from kernels.
 * Who mentions a function or class may run it. */
#ifndef LEX_PY_REACH_H
#define LEX_PY_REACH_H

#include "lex/py_names.h"

enum py_context {
    PY_C_FORWARD,
    PY_C_INIT,
    PY_C_MODULE,
    PY_C_KERNEL,
    PY_C_DEAD,
};
extern const char *const py_context_names[]; /* "forward", … */

/* `kernel_decorators` are dotted names, `count` of them. */
void py_reach(struct py_prog *p, const uint32_t *kernel_decorators,
              uint32_t count);
enum py_context py_context(const struct py_prog *p, uint32_t body);

#endif
