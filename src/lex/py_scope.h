/* py_scope.h: a Python program taken apart for the facts: primaries (a name or
 * bracket with its trailers), scopes, bodies of functions, classes, bindings
 * and what flows into which name. There is no syntax tree: everything refers
 * to tokens, so that any token soup is taken apart in one pass and without
 * recursion. Shared by the files behind py_facts.h; all of it lives in the
 * arena. Index 0 means "none", except scope 0 and body 0, the module's. */
#ifndef LEX_PY_SCOPE_H
#define LEX_PY_SCOPE_H

#include "base/arena.h"
#include "base/str.h"
#include "lex/py_lex.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words the analysis compares with: interned first, so that the name id of a
 * word is its place here. Keywords stand in front. */
/* clang-format off */
#define PY_KEYWORDS(X) \
    X(False) X(None) X(True) X(and) X(as) X(assert) X(async) X(await) X(break) \
    X(class) X(continue) X(def) X(del) X(elif) X(else) X(except) X(finally) \
    X(for) X(from) X(global) X(if) X(import) X(in) X(is) X(lambda) X(nonlocal) \
    X(not) X(or) X(pass) X(raise) X(return) X(try) X(while) X(with) X(yield)
#define PY_WORDS(X) \
    X(match) X(case) X(type) X(super) X(staticmethod) X(classmethod) \
    X(getattr) X(setattr) X(delattr) X(vars) X(builtins) \
    X(torch) X(nn) X(forward) X(__call__) X(__init__) X(ModelNew) \
    X(ModuleList) X(ModuleDict) X(Sequential) X(int) X(bool) X(str) \
    X(__name__) X(_modules) X(add_module) X(register_module) X(reduce) \
    X(starmap)
/* Methods of a torch.nn object that give it back, or the objects in it. */
#define PY_KEEPERS(X) \
    X(to) X(cuda) X(cpu) X(eval) X(train) X(half) X(float) X(double) \
    X(bfloat16) X(requires_grad_) X(apply) X(to_empty) X(share_memory) \
    X(children) X(modules) X(named_children) X(named_modules) X(items) \
    X(values) X(get_submodule) X(get) X(pop) X(copy)
/* Methods that put their arguments into what they are called on. */
#define PY_TAKERS(X) \
    X(append) X(extend) X(insert) X(add) X(update) X(push) X(setdefault)
/* Built-ins whose result holds what their arguments held. */
#define PY_HANDERS(X) \
    X(list) X(tuple) X(dict) X(set) X(zip) X(enumerate) X(iter) X(next) \
    X(map) X(filter) X(reversed) X(sorted)
/* Classes of torch.nn whose objects are data, or a base without a forward. */
#define PY_NN_DATA(X) \
    X(Parameter) X(ParameterList) X(ParameterDict) X(Buffer) \
    X(UninitializedParameter) X(UninitializedBuffer) X(Module)
/* clang-format on */

enum py_word {
    PY_W_none,
#define X(word) PY_W_##word,
    PY_KEYWORDS(X) PY_W_end_keywords,
    PY_WORDS(X) PY_W_end_words,
    PY_KEEPERS(X) PY_W_end_keepers,
    PY_TAKERS(X) PY_W_end_takers,
    PY_HANDERS(X) PY_W_end_handers,
    PY_NN_DATA(X) PY_W_end_nn_data,
#undef X
};

static inline bool py_is_keyword(uint32_t name)
{
    return name && name < PY_W_end_keywords;
}

static inline bool py_is_keeper(uint32_t name)
{
    return name > PY_W_end_words && name < PY_W_end_keepers;
}

static inline bool py_is_hander(uint32_t name)
{
    return name > PY_W_end_takers && name < PY_W_end_handers;
}

/* ---- small containers in an arena ---------------------------------------- */

#define PY_VEC(type)       \
    struct {               \
        type *at;          \
        uint32_t len, cap; \
    }
/* A pointer to a new last element: zeroed, unless the vector was shortened. */
#define PY_PUSH(arena, v)                                                      \
    ((v).len == (v).cap                                                        \
         ? (void)((v).at =                                                     \
                      py_vec_grow((arena), (v).at, &(v).cap, sizeof(*(v).at))) \
         : (void)0,                                                            \
     &(v).at[(v).len++])
void *py_vec_grow(struct arena *a, void *at, uint32_t *cap, size_t size);

/* Numbers to numbers other than 0. */
struct py_table {
    uint64_t *key;
    uint32_t *val;
    uint32_t len, cap;
};
uint32_t py_table_get(const struct py_table *t, uint64_t key); /* 0: none */
void py_table_set(struct py_table *t, struct arena *a, uint64_t key,
                  uint32_t val);

static inline uint64_t py_pair(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* ---- the program ---------------------------------------------------------- */

enum py_node_kind {
    PY_N_NAME = 1,
    PY_N_ATTR,  /* base.name */
    PY_N_CALL,  /* base(…) */
    PY_N_SUB,   /* base[…] */
    PY_N_GROUP, /* (…): `base` is the one primary inside, if it is just one */
    PY_N_DISPLAY, /* list, dict, set, tuple, comprehension */
    PY_N_LITERAL, /* strings (implicitly joined ones are one), numbers, None */
    PY_N_LAMBDA,  /* `base` is its body */
};

enum {
    PY_F_STORE = 1,   /* bound or assigned here */
    PY_F_AUG = 2,     /* by an augmented assignment */
    PY_F_NOTE = 4,    /* stands in an annotation */
    PY_F_DECO = 8,    /* is a decorator, so it is called */
    PY_F_QUIET = 16,  /* mentioning it runs nothing: a base class */
    PY_F_KERNEL = 32, /* is handed to a kernel decorator as an argument */
    PY_F_STRING = 64, /* a literal with text */
};

struct py_node {
    uint8_t kind, flags;
    uint8_t use;              /* kind of the node that consumes it, or 0 */
    uint32_t start, tok, end; /* first token, its own token, last token */
    uint32_t base, user;      /* the node inside, the node round it */
    uint32_t name;            /* PY_N_NAME, PY_N_ATTR */
    uint32_t scope, body;
    uint32_t slot; /* PY_N_NAME: what it is bound to; 0: nothing in this file */
    uint32_t val;  /* py_names.h */
};

enum py_scope_kind {
    PY_S_MODULE,
    PY_S_CLASS,
    PY_S_FUNCTION,
    PY_S_COMPREHENSION
};

struct py_scope {
    enum py_scope_kind kind;
    uint32_t parent, depth, cls;
};

/* A function, a lambda, the module, or what stands under the module's
 * `if __name__ == "__main__":`. */
struct py_body {
    uint32_t name, parent, scope;
    uint32_t cls;                /* the class it is a method of */
    uint32_t in_cls;             /* the class it stands in, at any depth */
    uint32_t params, last_param; /* bindings, chained by `next` */
    uint32_t decos, deco_count;  /* in py_prog.decos */
    uint32_t child, sibling;     /* functions inside that are not methods */
    uint32_t method;             /* next method of the class */
    uint32_t namesake;           /* next method of that name in the file */
    uint32_t ret;                /* slot of what it returns */
    uint32_t edges;              /* py_reach.c */
    uint8_t reached, pending;    /* contexts, as bits */
    bool lambda, kernel, is_static, is_classmethod;
    bool script;   /* runs only in a file that is the main program */
    bool ret_read; /* py_names.c: somebody asked what it returns */
};

struct py_class {
    uint32_t name, scope, body;
    uint32_t bases, base_count; /* in py_prog.bases */
    uint32_t methods;           /* bodies, chained by `method` */
    uint32_t family;            /* classes related by inheritance share one */
    uint8_t reached;
    bool live, root;
};

struct py_base {
    uint32_t keyword;  /* name, for metaclass=X */
    uint32_t from, to; /* tokens */
};

enum py_bind_kind { PY_B_VALUE, PY_B_IMPORT, PY_B_DEF, PY_B_CLASS, PY_B_PARAM };

struct py_binding {
    enum py_bind_kind kind;
    uint32_t scope, name, tok, body;
    uint32_t ref;     /* dotted name, body or class; PARAM: its body */
    uint32_t slot;    /* after py_scope_resolve() */
    uint32_t next;    /* next parameter; next definition of a slot */
    uint32_t node_at; /* how many nodes there were */
    bool self;        /* PARAM: the first one of a method */
    bool scalar;      /* PARAM: annotated or defaulted as a plain number */
};

enum py_flow_kind {
    PY_FLOW_VALUE,   /* target = value */
    PY_FLOW_ELEMENT, /* for target in value; target += value */
    PY_FLOW_RETURN,  /* return value, out of `body` */
};

struct py_flow {
    enum py_flow_kind kind;
    uint32_t from, to; /* the value's tokens */
    uint32_t targets, target_count;
    uint32_t body, node_at;
};

struct py_target {
    uint32_t node;    /* 0: a parameter */
    uint32_t binding; /* of a name or parameter, else 0 */
    uint32_t of;      /* how many a tuple of targets has, PY_MANY: unknown;
                         0: it stands alone */
};

enum py_event_kind {
    PY_E_IMPORT, /* ref: dotted name; star */
    PY_E_DEF,    /* ref: body */
    PY_E_CLASS,  /* ref: class */
    PY_E_TRY,    /* ref: 1 when it only imports */
    PY_E_WITH,   /* ref: node of the item */
    PY_E_MATMUL,
    PY_E_ARITH, /* ref: left node; the right operand starts at tok + 1 */
};

struct py_event {
    enum py_event_kind kind;
    uint32_t tok, body, node_at, ref;
    bool star;
};

struct py_decl { /* global, nonlocal */
    uint32_t scope, name;
    bool global;
};

struct py_dotted { /* a full name: the parent's, a dot, this */
    uint32_t parent, name, root, depth;
    bool in_nn; /* below torch.nn */
};

#define PY_SET_MAX 16
struct py_set {
    uint32_t len;
    uint32_t item[PY_SET_MAX];
};

struct py_slot { /* a variable, or an attribute of a family of classes */
    uint32_t name, scope;
    uint32_t val;
    uint32_t defs;  /* bindings that define functions and classes, chained */
    uint32_t param; /* the body it is a parameter of; the module has none */
    uint8_t seen;   /* py_reach.c */
    uint32_t cls;   /* a class that is bound to it; 0: none is */
    uint32_t binds; /* how many bindings it has */
    bool self;      /* the first parameter of a method */
    bool related;   /* its classes are known to be one family */
    bool read;      /* py_names.c: somebody asked for its value */
    bool live;      /* py_reach.c */
    bool member;    /* bound in the body of a class */
    bool tensor;    /* a parameter of ModelNew.forward */
};

struct py_prog {
    struct arena *a;
    struct str src;
    const struct py_token *tok;
    uint32_t len;
    uint32_t *id;   /* of each token: its name id, or 0 */
    uint32_t *prim; /* of each token: the longest primary that starts there */
    bool *loops;    /* of each token: a bracket that holds a comprehension */

    PY_VEC(struct str) names;
    PY_VEC(uint64_t) name_key; /* py_intern(): what tells names apart */
    uint32_t *name_index;
    uint32_t name_index_len;
    uint32_t *name_slot; /* of each name: its only slot, or PY_MANY */
    bool *assigned;      /* of each name: it is assigned as an attribute */

    PY_VEC(struct py_node) nodes;
    PY_VEC(struct py_scope) scopes;
    PY_VEC(struct py_body) bodies;
    PY_VEC(struct py_class) classes;
    PY_VEC(struct py_base) bases;
    PY_VEC(uint32_t) decos; /* nodes */
    PY_VEC(struct py_binding) bindings;
    PY_VEC(struct py_flow) flows;
    PY_VEC(struct py_target) targets;
    PY_VEC(struct py_event) events;
    PY_VEC(struct py_decl) decls;
    PY_VEC(struct py_dotted) dotted;
    PY_VEC(struct py_set) sets;
    PY_VEC(struct py_slot) slots;
    PY_VEC(uint32_t) class_slots; /* variables of class bodies */
    struct py_table dotted_index, slot_index, member_index;

    bool renamed; /* the file binds __name__, so it may be the main program */
    bool changed; /* py_names.c: something was added that was read before */
    bool limited; /* more meanings, or longer ways to them, than are followed */
};

#define PY_MANY UINT32_MAX

/* Whether token i is the operator `op`. */
static inline bool py_op(const struct py_prog *p, uint32_t i, char op)
{
    const struct py_token *t = &p->tok[i];

    return t->kind == PY_OP && t->text.n == 1 && t->text.p[0] == op;
}

/* Whether code never runs: a candidate is imported, under another name. */
static inline bool py_is_script(const struct py_prog *p, uint32_t body)
{
    return p->bodies.at[body].script && !p->renamed;
}

/* Sets up an empty program with the words interned. */
void py_prog_init(struct py_prog *p, struct str src, const struct py_tokens *t,
                  struct arena *a);
uint32_t py_intern(struct py_prog *p, struct str text);
/* The name `parent`.`name`; parent 0: `name` alone. */
uint32_t py_dotted(struct py_prog *p, uint32_t parent, uint32_t name);

/* Takes the tokens apart: nodes, scopes, bodies, bindings, flows, events. */
void py_walk(struct py_prog *p);
/* Then: Python's scoping. Every binding and every name gets its slot. */
void py_scope_resolve(struct py_prog *p);
/* The slot of an attribute in a family of classes; 0 unless `make`. */
uint32_t py_member(struct py_prog *p, uint32_t family, uint32_t name,
                   bool make);

#endif
