/* cxx_view.h: the C or C++ text that reaches a build call. Private to the
 * files behind py_facts.h. */
#ifndef LEX_CXX_VIEW_H
#define LEX_CXX_VIEW_H

#include "lex/py_origin.h"
#include "lex/view.h"

struct cxx_view;

/* `o` must outlive it. */
struct cxx_view *cxx_view_new(const struct py_origins *o, struct arena *a);
/* Follows the arguments of a call; what it finds becomes part of the view if it
 * is to be printed. True when that is surely all there is: the arguments are
 * string literals and their sums, and names bound once to such. */
bool cxx_view_add(struct cxx_view *v, uint32_t call, bool print);
void cxx_view_done(struct cxx_view *v, struct view *out);

#endif
