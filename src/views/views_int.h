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

/* Memory bandwidth that a GPU of this name can reach, in bytes per second; 0:
 * not known. */
double views_peak_bandwidth(const char *gpu);

#endif
