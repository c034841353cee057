/* compare.h: runs side by side, on the tasks that they have in common. */
#ifndef ANALYZE_COMPARE_H
#define ANALYZE_COMPARE_H

#include "analyze/analyze.h"

/* What makes the runs incomparable: a line for each difference in tasks,
 * precision or protocol. Returns how many. */
size_t compare_differences(struct analysis *a, struct buf *out);
/* Leaves only the tasks that all runs have, the same source in each; returns
 * how many. */
size_t compare_align(struct analysis *a);

/* "runs", "curve", "pairs"; after compare_align(). */
extern const struct analyze_kind compare_kinds[]; /* name NULL at the end */

#endif
