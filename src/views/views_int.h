/* views_int.h: what the views share. */
#ifndef VIEWS_VIEWS_INT_H
#define VIEWS_VIEWS_INT_H

#include "views/views.h"

#include <stdbool.h>

/* A text, cut as views.h says; NULL is null. */
json_t *views_text(const char *s);
/* The same for every string in a value; takes and returns the reference. */
json_t *views_cut(json_t *v);
/* NaN is null. */
json_t *views_real(double x);
/* {KEY: …, …} for each run, in a list: {"runs": [...]}. `make` returns NULL
 * with an error. */
json_t *views_each(struct run_view *const *runs, size_t n,
                   json_t *(*make)(struct run_view *v, struct err *e),
                   struct err *e);

#endif
