/* py_value.h: what a name or expression may stand for: an imported thing by its
 * full name, a function or class of this file, an object made by one, a torch.nn
 * object. A value is a set of such meanings. Private to the files behind
 * py_facts.h. */
#ifndef LEX_PY_VALUE_H
#define LEX_PY_VALUE_H

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

/* Whether a meaning is a class of this file or an object of one. */
static inline bool py_has_members(uint32_t item)
{
    enum py_val_kind kind = py_val_kind(item);

    return kind == PY_V_CLASS || kind == PY_V_SELF || kind == PY_V_OBJECT;
}

/* The meanings of a value: items[0..*len). */
const uint32_t *py_val_items(const struct py_prog *p, const uint32_t *val,
                             uint32_t *len);
bool py_val_has(const struct py_prog *p, uint32_t val, enum py_val_kind kind);

/* Sets under construction. Adding to a full one fails; where that loses a
 * meaning, the program is `limited`. */
bool py_set_add(struct py_set *s, uint32_t item);
bool py_set_has(const struct py_set *s, enum py_val_kind kind);
/* Objects flow through anything that may hold them; names of things only
 * through what hands over the thing itself. */
void py_set_join(struct py_prog *p, struct py_set *s, uint32_t val,
                 bool objects_only);
/* The set as a value; `old` is reused when it says the same. */
uint32_t py_set_val(struct py_prog *p, const struct py_set *s, uint32_t old);

/* What a variable stands for so far. If more comes later, there is another
 * round. */
uint32_t py_slot_val(struct py_prog *p, uint32_t slot);
void py_slot_add(struct py_prog *p, uint32_t slot, uint32_t item);
void py_slot_join(struct py_prog *p, uint32_t slot, const struct py_set *s);

/* Adds the meanings of the expression in tokens [from, to). */
void py_region_join(struct py_prog *p, struct py_set *out, uint32_t from,
                    uint32_t to, bool objects_only);
/* The end of the element that starts at `from`: its comma, or `to`. */
uint32_t py_element_end(const struct py_prog *p, uint32_t from, uint32_t to);

/* a, b = c, d: whether the value has as many elements as there are targets, and
 * where they start and end. */
bool py_pair_elements(const struct py_prog *p, const struct py_flow *f,
                      uint32_t *from, uint32_t *to);

/* The node without the parentheses round it. */
uint32_t py_bare(const struct py_prog *p, uint32_t node);
/* Whether it is a call of super(). */
bool py_is_super(const struct py_prog *p, uint32_t node);
/* The primary that a call's arguments start with, or 0. */
uint32_t py_first_arg(const struct py_prog *p, uint32_t call);

#endif
