/* headline.h: what happened, in a sentence or two. */
#ifndef VIEWS_HEADLINE_H
#define VIEWS_HEADLINE_H

#include "run/summary.h"

/* Appends it: what is solved, in which language, by which model, at what cost.
 * With several runs: which solved how many. `labels` tell runs apart. */
void headline_put(struct run_view *const *runs, const struct summary *m,
                  const char *const *labels, size_t n, struct buf *out);

/* What tells each of several runs apart: its method, else its model, else the
 * name of its folder. Borrowed from the runs. */
void headline_labels(struct run_view *const *runs, size_t n,
                     const char **labels);

/* "1,234,567" */
void headline_number(int64_t n, struct buf *out);
/* "$0.0123", or "$12.34" */
void headline_usd(int64_t usd_micro, struct buf *out);
/* "28 s", "3 min", "2 h 5 min" */
void headline_time(double seconds, struct buf *out);

#endif
