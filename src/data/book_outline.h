/* book_outline.h: the lines, functions and classes of a Python program, found
 * in its tokens. */
#ifndef DATA_BOOK_OUTLINE_H
#define DATA_BOOK_OUTLINE_H

#include "lex/py_lex.h"

#define BOOK_NONE (-1)

/* A logical line: tokens [from, to); tok[to] is its PY_NEWLINE. */
struct book_line {
    size_t from, to;
    int depth;
    int unit; /* the function or class that it belongs to, or BOOK_NONE */
};

/* A function or class. */
struct book_unit {
    bool is_class;
    bool one_line;    /* its body is on the line of its header */
    int parent;       /* or BOOK_NONE */
    size_t name;      /* token */
    size_t line;      /* of the header */
    size_t body, end; /* tokens of the body: [body, end) */
};

struct book_outline {
    const struct py_tokens *t;
    struct book_line *line;
    size_t lines;
    struct book_unit *unit;
    size_t units;
    int *unit_of; /* for each token */
};

/* The tokens must not have a problem. Everything lives in `a`. */
void book_outline(struct book_outline *o, const struct py_tokens *t,
                  struct arena *a);
/* The last unit of this name and kind with this parent, or BOOK_NONE. */
int book_outline_find(const struct book_outline *o, int parent, bool is_class,
                      const char *name);
/* Whether `unit` is `outer` or inside it. */
bool book_outline_within(const struct book_outline *o, int unit, int outer);

/* The token after the one at `i`, or after the bracket that it opens. */
size_t book_outline_next(const struct py_tokens *t, size_t i);
/* The first operator or name `text` in [from, to) outside brackets, or `to`. */
size_t book_outline_top(const struct py_tokens *t, size_t from, size_t to,
                        const char *text);
/* Whether the name at `i` is an attribute: it follows a dot. */
bool book_outline_dotted(const struct py_tokens *t, size_t i);

#endif
