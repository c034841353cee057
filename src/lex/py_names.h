/* py_names.h: what a name or expression may stand for: an imported thing by
 * its full name, a function or class of this file, an object made by one, a
 * torch.nn object. Flow-insensitive: whatever is assigned anywhere counts
 * everywhere, and a name may have several meanings. */
#ifndef LEX_PY_NAMES_H
#define LEX_PY_NAMES_H

#include "lex/py_scope.h"

/* A meaning is a kind and an index; 0 is no meaning that we follow. */
enum py_val_kind {
    PY_V_IMPORT = 1, /* dotted name */
    PY_V_BUILTIN,    /* name that nothing in this file binds */
    PY_V_FUNCTION,   /* body */
    PY_V_CLASS,      /* class */
    PY_V_METHODS,    /* slot of a member that is a method, bound */
    PY_V_SELF,       /* class: the object whose method this is */
    PY_V_OBJECT,     /* class: an object of it, or a container of such */
    PY_V_HOLDER,     /* an object of torch.nn, or a container of such */
    PY_V_SET,        /* several: an index into py_prog.sets */
};

#define PY_V_SHIFT 28
static inline uint32_t py_val(enum py_val_kind kind, uint32_t ref)
{
    return (uint32_t)kind << PY_V_SHIFT | ref;
}
static inline enum py_val_kind py_val_kind(uint32_t val)
{
    return (enum py_val_kind)(val >> PY_V_SHIFT);
}
static inline uint32_t py_val_ref(uint32_t val)
{
    return val & (((uint32_t)1 << PY_V_SHIFT) - 1);
}

/* The meanings of a value: items[0..*len). */
const uint32_t *py_val_items(const struct py_prog *p, const uint32_t *val,
                             uint32_t *len);
bool py_val_has(const struct py_prog *p, uint32_t val, enum py_val_kind kind);

/* Gives every slot and node its meanings; families of classes before that. */
void py_names_resolve(struct py_prog *p);

/* The node without the parentheses round it. */
uint32_t py_bare(const struct py_prog *p, uint32_t node);
/* `super()` is worth the class it stands in. */
bool py_is_super(const struct py_prog *p, uint32_t node);
/* A plain-number first argument of a call, as a node, or 0. */
uint32_t py_first_arg(const struct py_prog *p, uint32_t call);

#endif
