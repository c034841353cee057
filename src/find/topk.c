/* topk.c: the dot product, four vectors of four sums each. Vector types of the
 * compilers instead of a machine's own instructions, and no licence to reorder
 * sums: whatever the machine, lane i adds elements i, i + 16, i + 32, … */
#include "find/topk.h"

#include <math.h>
#include <string.h>

typedef float lanes __attribute__((vector_size(16)));

size_t topk_width(size_t dim)
{
    return (dim + TOPK_FLOATS - 1) / TOPK_FLOATS * TOPK_FLOATS;
}

bool topk_unit(float *row, const float *v, size_t dim)
{
    double squares = 0, length;

    memset(row, 0, topk_width(dim) * sizeof(*row));
    for (size_t i = 0; i < dim; i++)
        squares += (double)v[i] * (double)v[i];
    length = sqrt(squares);
    if (!(length > 0) || !isfinite(length))
        return false;
    for (size_t i = 0; i < dim; i++)
        row[i] = (float)((double)v[i] / length);
    return true;
}

static lanes load(const float *p)
{
    lanes v;

    memcpy(&v, p, sizeof(v));
    return v;
}

float topk_dot(const float *a, const float *b, size_t width)
{
    lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};

    for (size_t i = 0; i < width; i += TOPK_FLOATS) {
        s0 += load(a + i) * load(b + i);
        s1 += load(a + i + 4) * load(b + i + 4);
        s2 += load(a + i + 8) * load(b + i + 8);
        s3 += load(a + i + 12) * load(b + i + 12);
    }
    s0 = (s0 + s1) + (s2 + s3);
    return (s0[0] + s0[1]) + (s0[2] + s0[3]);
}

int32_t topk_cosine(const float *a, const float *b, size_t width)
{
    double millionths = (double)topk_dot(a, b, width) * 1e6;

    return (int32_t)(millionths < 0 ? millionths - 0.5 : millionths + 0.5);
}
