/* py_names.h: meanings flow through assignments, loops, returns and arguments.
 * Flow-insensitive: whatever is assigned anywhere counts everywhere, and a name
 * may have several meanings. Private to the files behind py_facts.h. */
#ifndef LEX_PY_NAMES_H
#define LEX_PY_NAMES_H

#include "lex/py_value.h"

/* Gives every slot and node its meanings; families of classes before that. */
void py_names_resolve(struct py_prog *p);

/* py_call.c: what a call gives back; its arguments go to where they are sent. */
uint32_t py_call_val(struct py_prog *p, const struct py_node *n);
/* A call that sets an attribute by its name: setattr(b, "n", v) and
 * b.add_module("n", v). */
struct py_named_store {
    uint32_t base, body; /* the node b, and where the call stands */
    uint32_t name;       /* 0: the name is computed */
    uint32_t from, to;   /* tokens of v */
};
bool py_named_store(struct py_prog *p, const struct py_node *call,
                    struct py_named_store *out);
/* The attribute it sets, of the nth meaning of b; 0: none, or there is none
 * yet unless `make`. */
uint32_t py_stored_slot(struct py_prog *p, const struct py_named_store *s,
                        uint32_t nth, bool make);
/* Adds to the attribute that an attribute node stands for. Objects that are
 * not known share theirs: family 0. */
void py_attr_join(struct py_prog *p, const struct py_node *n,
                  const struct py_set *in);
/* Adds to the container that a node stands for. */
void py_put_into(struct py_prog *p, uint32_t node, const struct py_set *in);

#endif
