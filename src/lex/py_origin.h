/* py_origin.h: where a value comes from: the stretches of tokens that are
 * assigned to a variable or put into it, that a function returns, and that it
 * is called with. Read backwards, from the few variables that matter. Private
 * to the files behind py_facts.h. */
#ifndef LEX_PY_ORIGIN_H
#define LEX_PY_ORIGIN_H

#include "lex/py_names.h"

enum py_origin_kind {
    PY_O_VALUE, /* it is this */
    PY_O_PART,  /* it is something in this: a loop variable, one of a tuple */
    PY_O_PUT,   /* this is put into it */
};

struct py_origin {
    enum py_origin_kind kind;
    uint32_t from, to; /* tokens */
    uint32_t skip;     /* arguments: parameters that come before them */
    uint32_t next;
};

struct py_origins {
    struct py_prog *p;
    PY_VEC(struct py_origin) list;
    uint32_t *slot;     /* of each variable: its origins, chained by `next` */
    uint32_t *returned; /* of each body: what it returns */
    uint32_t *passed;   /* of each body: the arguments of its calls */
    uint32_t slots;     /* how many variables there were */
};

/* Meanings must be resolved. */
void py_origins_find(struct py_origins *o, struct py_prog *p);

/* The variable that a name or attribute stands for; `nth` counts the meanings
 * of what it is an attribute of. 0: none. */
uint32_t py_slot_of(const struct py_prog *p, const struct py_node *n,
                    uint32_t nth);
/* How many meanings there are to ask for. */
uint32_t py_slot_count(const struct py_prog *p, const struct py_node *n);

#define PY_MAX_CALLEES 8
struct py_callee {
    uint32_t body;
    uint32_t skip; /* 1: it gets its object first */
};
/* The functions of this file that a call may run: how many of `out`. */
uint32_t py_callees(const struct py_prog *p, const struct py_node *call,
                    struct py_callee out[PY_MAX_CALLEES]);

/* Whether all that is ever assigned to a variable was made in this file: an
 * object of one of its classes, or a function. */
bool py_holds_own(const struct py_origins *o, uint32_t slot);

#endif
