/* curve.h: how a run went over time: what was solved, after how many attempts
 * and at what cost. */
#ifndef VIEWS_CURVE_H
#define VIEWS_CURVE_H

#include "run/view.h"

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

#endif
