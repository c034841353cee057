/* extract_int.h: what extract.c and diff.c share. */
#ifndef PROMPT_EXTRACT_INT_H
#define PROMPT_EXTRACT_INT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "source/py_lex.h"

/* What a text is, asked for the class it should define. */
enum program {
    PROGRAM_WHOLE,  /* Python that defines the class */
    PROGRAM_OTHER,  /* something without that class */
    PROGRAM_BROKEN, /* names the class, but is not Python: see the problem */
};
/* `normal` gets the hash of a whole one (py_normal.h), unless it is NULL. */
enum program program_check(struct str text, const char *must_define,
                           struct arena *a, struct py_problem *problem,
                           char *normal);

/* "line 3, column 7: … The line reads: …" */
void feedback_problem(struct buf *out, struct str text,
                      const struct py_problem *problem);
/* A line of the model's, indented, with its newline; long ones are cut. */
void feedback_line(struct buf *out, struct str line);

#endif
