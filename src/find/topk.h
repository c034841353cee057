/* topk.h: vectors compared: unit length, cosines as whole millionths, so that
 * equal is equal on every machine. */
#ifndef FIND_TOPK_H
#define FIND_TOPK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPK_NEVER INT32_MIN /* the cosine of a vector without a direction */

/* Floats in the row of a vector of `dim`: whole blocks, the rest is zeros. */
size_t topk_width(size_t dim);
/* The row of a vector: unit length, or all zeros for one without a direction
 * (zero, or not finite); false for that. */
bool topk_unit(float *row, const float *v, size_t dim);
/* The cosines in millionths of a row with `n` rows that lie one behind the
 * other. The order of adding is the same everywhere. */
void topk_cosines(const float *row, const float *rows, size_t n, size_t width,
                  int32_t *out);

#endif
