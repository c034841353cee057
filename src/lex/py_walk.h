/* py_walk.h: the state of the one pass over the tokens; private to py_walk.c
 * (expressions), py_frame.c (what is open) and py_stmt.c (statements). */
#ifndef LEX_PY_WALK_H
#define LEX_PY_WALK_H

#include "lex/py_scope.h"

enum frame_kind {
    FRAME_GROUP,
    FRAME_LIST,
    FRAME_BRACE,
    FRAME_CALL,
    FRAME_SUB,
    FRAME_FSTRING,
    FRAME_FIELD,  /* {…} in an f-string */
    FRAME_PARAMS, /* def f(…), also its [type parameters] */
    FRAME_BASES,  /* class C(…) */
    FRAME_LAMBDA, /* no bracket: from `lambda` to the end of its body */
    FRAME_WALRUS, /* no bracket: the value behind := */
};

/* Where a comprehension stands. */
enum comp_part {
    COMP_NONE,
    COMP_ELEMENT,
    COMP_TARGET,
    COMP_ITERABLE,
    COMP_REST
};

struct frame {
    enum frame_kind kind;
    enum comp_part comp;
    bool inner;       /* LAMBDA: past the colon; FIELD: in the format spec;
                         comprehension: past its first iterable */
    bool expect;      /* PARAMS, LAMBDA: a parameter's name comes next */
    uint32_t open;    /* token */
    uint32_t base;    /* node called or indexed; WALRUS: the name's node */
    uint32_t body;    /* PARAMS, LAMBDA: the function; 0 for type parameters */
    uint32_t scope;   /* PARAMS, LAMBDA, comprehension: the scope inside */
    uint32_t param;   /* the binding whose default is being read */
    uint32_t mark;    /* token where the part being read starts */
    uint32_t targets; /* comprehension: token where its targets start */
    uint32_t ifs;     /* LAMBDA: `if` without its `else` yet */
    uint32_t commas;
    uint32_t outer_scope, outer_body;
};

enum stmt_kind {
    STMT_EXPR,
    STMT_RETURN,
    STMT_DEL,
    STMT_DECORATOR,
    STMT_PASS,
    STMT_OTHER, /* an expression may follow, nothing is bound */
    STMT_DEF,   /* from here on: ends in a colon and has a block */
    STMT_CLASS,
    STMT_FOR,
    STMT_WITH,
    STMT_TRY,
    STMT_EXCEPT,
    STMT_MATCH,
    STMT_CASE,
    STMT_BLOCK,
};

struct stmt {
    enum stmt_kind kind;
    uint32_t start;          /* first token */
    uint32_t in, aug, colon; /* tokens: `in` of a for, `+=`, annotation */
    uint32_t guard;          /* token: `if` of a case */
    uint32_t ref;            /* body or class */
    uint32_t nodes;          /* how many there were */
    bool signature;          /* its parameters or bases are behind us */
};

struct block {
    enum stmt_kind kind;
    bool opened, on_line; /* its INDENT came; it is the rest of the line */
    uint32_t scope, body; /* of the code round it */
    uint32_t event;       /* STMT_TRY: index + 1 of its event */
};

struct walk {
    struct py_prog *p;
    PY_VEC(struct frame) frames;
    PY_VEC(struct block) blocks;
    PY_VEC(uint32_t) equals; /* tokens: = of the statement */
    PY_VEC(uint32_t) decos;  /* nodes waiting for their def or class */
    struct stmt st;
    uint32_t scope, body;
    uint32_t cur; /* the node that ended with the token before, or 0 */
    uint32_t dot; /* the node before a dot */
    bool fresh;   /* a statement starts with the next token */
    bool note;    /* inside an annotation */
};

static inline struct frame *frame_top(struct walk *w)
{
    return w->frames.len ? &w->frames.at[w->frames.len - 1] : NULL;
}

/* py_walk.c: records */
uint32_t walk_node(struct walk *w, enum py_node_kind kind, uint32_t start,
                   uint32_t tok, uint32_t end);
/* A node that takes in the node `base`, which began at its own start. */
void walk_trailer(struct walk *w, enum py_node_kind kind, uint32_t base,
                  uint32_t tok, uint32_t end);
uint32_t walk_bind(struct walk *w, enum py_bind_kind kind, uint32_t scope,
                   uint32_t name, uint32_t tok);
struct py_event *walk_event(struct walk *w, enum py_event_kind kind,
                            uint32_t tok);
uint32_t walk_scope(struct walk *w, enum py_scope_kind kind);
uint32_t walk_body(struct walk *w, uint32_t name); /* 0: a lambda */
void walk_target(struct walk *w, uint32_t node, uint32_t binding);
/* Marks the tokens [from, to) as targets that are bound in `scope`. */
void walk_targets(struct walk *w, uint32_t from, uint32_t to, uint8_t flags,
                  uint32_t scope);
/* What flows from tokens [from, to) into the targets added since `targets`. */
void walk_flow(struct walk *w, enum py_flow_kind kind, uint32_t from,
               uint32_t to, uint32_t targets);

/* py_frame.c: what token i opens and closes; `base` is the node before it */
struct frame *frame_push(struct walk *w, enum frame_kind kind, uint32_t open,
                         uint32_t base);
void frame_open(struct walk *w, uint32_t i, uint32_t base);
void frame_close(struct walk *w, uint32_t i);
void frame_open_lambda(struct walk *w, uint32_t i);
void frame_open_walrus(struct walk *w, uint32_t i, uint32_t name);
/* Ends the lambda or := on top of the stack with the token before i. */
void frame_pop_light(struct walk *w, uint32_t i);
/* Ends the lambdas and := that token i cannot be part of. */
void frame_close_light(struct walk *w, uint32_t i);
void frame_end_default(struct walk *w, struct frame *f, uint32_t i);
void frame_end_iterable(struct walk *w, struct frame *f, uint32_t i);
/* A literal from token `start` to i, or more of the string node before it. */
void frame_literal(struct walk *w, uint32_t start, uint32_t i, uint32_t before,
                   bool text);
void frame_end_fstring(struct walk *w, uint32_t i);
void frame_unwind(struct walk *w,
                  uint32_t i); /* closes what a line left open */

/* py_stmt.c */
/* A statement starts at token i. Returns the token to go on with: i itself
 * when it is the start of an expression. */
uint32_t stmt_begin(struct walk *w, uint32_t i);
void stmt_end(struct walk *w, uint32_t i);
void stmt_colon(struct walk *w, uint32_t i); /* a colon outside brackets */
void stmt_newline(struct walk *w);
void stmt_indent(struct walk *w);
void stmt_dedent(struct walk *w);
void stmt_bases(struct walk *w, uint32_t open, uint32_t close);

#endif
