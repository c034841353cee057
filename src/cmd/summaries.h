/* summaries.h: where a run stands, as `status`, `run` and `resume` print it. */
#ifndef CMD_SUMMARIES_H
#define CMD_SUMMARIES_H

#include "base/buf.h"
#include "base/json.h"
#include "run/summary.h"

/* One line; a table with a line for each task. */
void summaries_line(const struct summary *m, struct buf *out);
void summaries_table(const struct summary *m, struct buf *out);
/* Why tasks have no solution: a line of counts, and the most common errors;
 * nothing when all are solved. */
void summaries_unsolved(const struct summary *m, struct buf *out);
/* How many speed-ups are hard to believe; nothing when none is. */
void summaries_proof(const struct summary *m, const char *dir, struct buf *out);
void summaries_implausible(const struct summary *m, struct buf *out);
/* A line for each entry of the archive: how often it was shown, and how often
 * the attempt then succeeded. */
void summaries_examples(const struct summary *m, struct buf *out);
/* A line for each worker, as run_view_workers() has them; NULL: none connected. */
void summaries_workers(const json_t *all, struct buf *out);
/* "running (process 4711)", "finished", … */
void summaries_state(const struct summary *m, struct buf *out);
/* A JSON object for each task, on stdout. */
void summaries_tasks(const struct summary *m);

#endif
