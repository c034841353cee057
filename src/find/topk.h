/* topk.h: vectors compared: unit length, cosines as whole millionths, so that
 * equal is equal on every machine. */
#ifndef FIND_TOPK_H
#define FIND_TOPK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPK_NEVER  INT32_MIN /* the cosine of a vector without a direction */
#define TOPK_FLOATS 16        /* rows are whole blocks, filled up with zeros */

/* Floats in a row for vectors of `dim`. */
size_t topk_width(size_t dim);
/* The row of a vector: unit length, or all zeros for one without a direction
 * (zero, or not finite); false for that. */
bool topk_unit(float *row, const float *v, size_t dim);
/* The sum of products of two rows; the order of adding is the same everywhere. */
float topk_dot(const float *a, const float *b, size_t width);
/* The cosine of two rows of unit length in millionths. */
int32_t topk_cosine(const float *a, const float *b, size_t width);

#endif
