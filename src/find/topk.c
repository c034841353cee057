/* topk.c: dot products. Vector types of the compilers instead of a machine's
 * own instructions, and no licence to reorder sums: whatever the machine and
 * however many rows at once, lane i of a row adds elements i, i + 8, i + 16 …;
 * a product and a sum are rounded apart (-ffp-contract=off). */
#include "find/topk.h"

#include <math.h>
#include <string.h>

#define BLOCK 8 /* floats a step: two vectors of four */

typedef float lanes __attribute__((vector_size(16)));

size_t topk_width(size_t dim)
{
    return (dim + BLOCK - 1) / BLOCK * BLOCK;
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

static int32_t millionths(lanes low, lanes high)
{
    lanes s = low + high;
    double x = (double)((s[0] + s[1]) + (s[2] + s[3])) * 1e6;

    return (int32_t)(x < 0 ? x - 0.5 : x + 0.5);
}

static int32_t one_cosine(const float *a, const float *b, size_t width)
{
    lanes low = {0}, high = {0};

    for (size_t i = 0; i < width; i += BLOCK) {
        low += load(a + i) * load(b + i);
        high += load(a + i + 4) * load(b + i + 4);
    }
    return millionths(low, high);
}

/* Four rows at once: the query is loaded once, and no sum waits for another. */
static void four_cosines(const float *q, const float *r, size_t w, int32_t *out)
{
    lanes a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0};
    lanes c0 = {0}, c1 = {0}, d0 = {0}, d1 = {0};

    for (size_t i = 0; i < w; i += BLOCK) {
        lanes low = load(q + i), high = load(q + i + 4);

        a0 += low * load(r + i);
        a1 += high * load(r + i + 4);
        b0 += low * load(r + w + i);
        b1 += high * load(r + w + i + 4);
        c0 += low * load(r + 2 * w + i);
        c1 += high * load(r + 2 * w + i + 4);
        d0 += low * load(r + 3 * w + i);
        d1 += high * load(r + 3 * w + i + 4);
    }
    out[0] = millionths(a0, a1);
    out[1] = millionths(b0, b1);
    out[2] = millionths(c0, c1);
    out[3] = millionths(d0, d1);
}

void topk_cosines(const float *row, const float *rows, size_t n, size_t width,
                  int32_t *out)
{
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        four_cosines(row, rows + i * width, width, out + i);
    for (; i < n; i++)
        out[i] = one_cosine(row, rows + i * width, width);
}
