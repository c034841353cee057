/* topk.h: compares unit vectors. Cosines are whole millionths, so that ties are the
 * same on every machine.
 *
 * Vectors are stored in panels of TOPK_PANEL, dimension by dimension: a query visits
 * only the dimensions where it is not zero itself, for all vectors of a panel at
 * once. */
#ifndef FIND_TOPK_H
#define FIND_TOPK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPK_PANEL 32
#define TOPK_NEVER INT32_MIN /* the cosine of a vector without a direction */

/* A vector at unit length; false, and all zeros, for one without a direction
 * (zero, or not finite). */
bool topk_unit(float *out, const float *v, size_t dim);
/* Puts a unit vector into panel memory as number `n`; `panels` has whole panels
 * of dim * TOPK_PANEL floats each, for n + 1 vectors at least. */
void topk_put(float *panels, size_t n, const float *unit, size_t dim);
/* The cosines in millionths of a unit vector with the first `n` of the panels.
 * `place` has room for `dim` indices. The order of adding is the same
 * everywhere. */
void topk_cosines(const float *unit, const float *panels, size_t n, size_t dim,
                  uint32_t *place, int32_t *out);

#endif
