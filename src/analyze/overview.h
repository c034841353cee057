/* overview.h: how a run went over time: what was solved, after how many attempts and
 * at what cost; and the same in a sentence or two. */
#ifndef ANALYZE_OVERVIEW_H
#define ANALYZE_OVERVIEW_H

#include "run/summary.h"

/* ---- the curve ---- */

/* When each finished attempt ended, in order of time. */
struct curve {
    int64_t *end; /* twice the microseconds since 1970, plus 1: it was the
                     first that solved its task */
    size_t len;
};

void curve_make(const struct run_view *v, struct curve *out);
void curve_release(struct curve *c);
int64_t curve_at(const struct curve *c, size_t i); /* microseconds since 1970 */

/* The time in which the run was at work, without the pauses between a stop and
 * the next resume; `now` ends it while it runs. Microseconds. */
int64_t curve_busy_us(const struct curve *c, const struct run_view *v,
                      int64_t now);
/* [[attempts, solved, usd_micro, tokens, seconds], …]: at most CURVE_POINTS,
 * the first and the last among them. Seconds count from the first call. */
#define CURVE_POINTS 240
json_t *curve_json(const struct curve *c, const struct run_view *v);

/* ---- the headline ---- */

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
