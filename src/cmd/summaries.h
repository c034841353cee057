/* summaries.h: where a run stands, as JSON Lines on stdout: what `status`,
 * `run` and `resume` share. */
#ifndef CMD_SUMMARIES_H
#define CMD_SUMMARIES_H

#include "run/summary.h"

void summaries_run(const struct summary *m, const char *dir); /* one line */
void summaries_tasks(const struct summary *m);    /* a line for each task */
void summaries_examples(const struct summary *m); /* … member of the archive */

#endif
