/* topk.c: dot products. Vector types of the compilers instead of a machine's
 * own instructions, and no licence to reorder sums: whatever the machine, the
 * products of a pair are added place by place, CHUNK of them to a sum, and the
 * sums one by one to the whole; a product and a sum are rounded apart
 * (-ffp-contract=off). */
#include "find/topk.h"

#include <math.h>
#include <string.h>

#define LANES 4
#define CHUNK 32 /* keeps the error of long sums small */

typedef float lanes __attribute__((vector_size(16)));

bool topk_unit(float *out, const float *v, size_t dim)
{
    double squares = 0, length;

    memset(out, 0, dim * sizeof(*out));
    for (size_t i = 0; i < dim; i++)
        squares += (double)v[i] * (double)v[i];
    length = sqrt(squares);
    if (!(length > 0) || !isfinite(length))
        return false;
    for (size_t i = 0; i < dim; i++)
        out[i] = (float)((double)v[i] / length);
    return true;
}

void topk_put(float *panels, size_t n, const float *unit, size_t dim)
{
    float *at = panels + n / TOPK_PANEL * dim * TOPK_PANEL + n % TOPK_PANEL;

    for (size_t i = 0; i < dim; i++)
        at[i * TOPK_PANEL] = unit[i];
}

static lanes load(const float *p)
{
    lanes v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static int32_t millionths(float cosine)
{
    double x = (double)cosine * 1e6;

    return (int32_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* Adds the products of at most CHUNK places. */
static void one_chunk(const float *unit, const float *panel,
                      const uint32_t *place, size_t places, lanes sum[4])
{
    lanes a = {0}, b = {0}, c = {0}, d = {0};

    for (size_t i = 0; i < places; i++) {
        const float *p = panel + (size_t)place[i] * TOPK_PANEL;
        float x = unit[place[i]];
        lanes q = {x, x, x, x};

        a += q * load(p);
        b += q * load(p + LANES);
        c += q * load(p + 2 * LANES);
        d += q * load(p + 3 * LANES);
    }
    sum[0] += a;
    sum[1] += b;
    sum[2] += c;
    sum[3] += d;
}

static void one_panel(const float *unit, const float *panel,
                      const uint32_t *place, size_t places,
                      float out[TOPK_PANEL])
{
    lanes sum[TOPK_PANEL / LANES] = {{0}};

    for (size_t i = 0; i < places; i += CHUNK)
        one_chunk(unit, panel, place + i,
                  places - i < CHUNK ? places - i : CHUNK, sum);
    memcpy(out, sum, sizeof(sum));
}

void topk_cosines(const float *unit, const float *panels, size_t n, size_t dim,
                  uint32_t *place, int32_t *out)
{
    size_t places = 0;
    float cosine[TOPK_PANEL];

    for (size_t i = 0; i < dim; i++) {
        place[places] = (uint32_t)i;
        places += unit[i] != 0;
    }
    for (size_t i = 0; i < n; i += TOPK_PANEL) {
        one_panel(unit, panels + i * dim, place, places, cosine);
        for (size_t j = i; j < n && j < i + TOPK_PANEL; j++)
            out[j] = millionths(cosine[j - i]);
    }
}
