/* compare.h: compares runs on the tasks that they have in common. */
#ifndef ANALYZE_COMPARE_H
#define ANALYZE_COMPARE_H

#include "analyze/analysis.h"

/* What makes the runs incomparable: a line for each difference in tasks,
 * precision or protocol. 1: there is one; 0: there is none. */
int compare_differences(struct analysis *a, struct buf *out, struct err *e);

/* Leaves only the tasks that all runs have, the same source in each; ERR_INPUT when
 * there are none. */
int compare_align(struct analysis *a, struct err *e);

/* The tables; after compare_align(). */
extern const struct analysis_kind compare_kinds[]; /* name NULL at the end */

#endif
