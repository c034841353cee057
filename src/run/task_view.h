/* task_view.h: a task of a run and its attempts as JSON, from the queries in task/. What a
 * model wrote is given as it was stored: treat it as untrusted. */
#ifndef RUN_TASK_VIEW_H
#define RUN_TASK_VIEW_H

#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#include <stdint.h>

/* The number of the attempt that stands for the task: of those that solved it the one with
 * the highest fitness (of equals the first), else the last; 0: none is finished. */
int task_view_best(struct store *s, int64_t task, int64_t *out, struct err *e);
/* {"task", "skipped", "reference", "attempts": a line each, "attempt": null}, as
 * docs/PAGE.md says. */
json_t *task_view(struct store *s, int64_t task, struct err *e);
/* An attempt in full, for the last member. NULL without an error: there is none. */
json_t *task_view_attempt(struct store *s, int64_t task, int64_t attempt,
                          struct err *e);
/* {"before", "diff"}: what changed in the code since the last attempt before that has
 * some. NULL without an error: there is none. */
json_t *task_view_diff(struct store *s, int64_t task, int64_t attempt,
                       struct err *e);

#endif
