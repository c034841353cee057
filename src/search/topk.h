/* topk.h: compares unit vectors. Cosines are whole millionths, so that ties are
 * the same on every machine.
 *
 * Vectors are stored in panels of TOPK_PANEL, dimension by dimension. A query
 * visits only the dimensions where it is nonzero, for all vectors of a panel at
 * once. */
#ifndef SEARCH_TOPK_H
#define SEARCH_TOPK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPK_PANEL 32
#define TOPK_NEVER INT32_MIN /* the cosine of a vector without a direction */

/* Scales a vector to unit length. Returns false, and writes all zeros, if it
 * has no direction (it is zero or not finite). */
bool topk_unit(float *out, const float *v, size_t dim);
/* Stores a unit vector as number `n`. `panels` consists of whole panels of dim
 * * TOPK_PANEL floats each, with room for at least n + 1 vectors. */
void topk_put(float *panels, size_t n, const float *unit, size_t dim);
/* Computes the cosines, in millionths, of a unit vector with the first `n`
 * vectors in the panels. `place` has room for `dim` indices. The order of the
 * additions is the same on every machine. */
void topk_cosines(const float *unit, const float *panels, size_t n, size_t dim,
                  uint32_t *place, int32_t *out);

#endif
