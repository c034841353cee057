/* topk.c: dot products. Uses the compilers' vector types instead of machine
 * instructions, and never lets the compiler reorder sums. On every machine,
 * products are added place by place, CHUNK of them per partial sum, and the
 * partial sums are added one by one. Products and sums are rounded separately
 * (-ffp-contract=off). */
#include "search/topk.h"

#include <math.h>
#include <string.h>

#define LANES  8
#define CHUNK  32 /* keeps the error of long sums small */
#define INLINE static inline __attribute__((always_inline))

typedef float lanes __attribute__((vector_size(4 * LANES)));

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

/* A unit vector, and its nonzero places. */
struct topk_query {
    const float *unit;
    size_t dim;
    const uint32_t *place;
    size_t places;
};

static int32_t millionths(float cosine)
{
    double x = (double)cosine * 1e6;

    return (int32_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* Adds the products of at most CHUNK places. Meanwhile it prefetches those of
 * the next panel, which are far away. */
INLINE void one_chunk(const float *unit, const float *panel, size_t dim,
                      const uint32_t *place, size_t places,
                      lanes sum[TOPK_PANEL / LANES])
{
    lanes a = {0}, b = {0}, c = {0}, d = {0}, v[TOPK_PANEL / LANES];

    for (size_t i = 0; i < places; i++) {
        const float *p = panel + (size_t)place[i] * TOPK_PANEL;
        float x = unit[place[i]];

        memcpy(v, p, sizeof(v));
        a += x * v[0];
        b += x * v[1];
        c += x * v[2];
        d += x * v[3];
        __builtin_prefetch(p + dim * TOPK_PANEL);
        __builtin_prefetch(p + dim * TOPK_PANEL + TOPK_PANEL / 2);
    }
    sum[0] += a;
    sum[1] += b;
    sum[2] += c;
    sum[3] += d;
}

INLINE void all_panels(const struct topk_query *q, const float *panels,
                       size_t n, int32_t *out)
{
    for (size_t i = 0; i < n; i += TOPK_PANEL) {
        lanes sum[TOPK_PANEL / LANES] = {{0}};
        float cosine[TOPK_PANEL];

        for (size_t at = 0; at < q->places; at += CHUNK)
            one_chunk(q->unit, panels + i * q->dim, q->dim, q->place + at,
                      q->places - at < CHUNK ? q->places - at : CHUNK, sum);
        memcpy(cosine, sum, sizeof(sum));
        for (size_t j = i; j < n && j < i + TOPK_PANEL; j++)
            out[j] = millionths(cosine[j - i]);
    }
}

static void panels_plain(const struct topk_query *q, const float *panels,
                         size_t n, int32_t *out)
{
    all_panels(q, panels, n, out);
}

#ifdef __x86_64__
/* The same sums, more at a time. */
__attribute__((target("avx2"))) static void
panels_wide(const struct topk_query *q, const float *panels, size_t n,
            int32_t *out)
{
    all_panels(q, panels, n, out);
}
#endif

void topk_cosines(const float *unit, const float *panels, size_t n, size_t dim,
                  uint32_t *place, int32_t *out)
{
    struct topk_query q = {.unit = unit, .dim = dim, .place = place};

    for (size_t i = 0; i < dim; i++) {
        place[q.places] = (uint32_t)i;
        q.places += unit[i] != 0;
    }
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        panels_wide(&q, panels, n, out);
        return;
    }
#endif
    panels_plain(&q, panels, n, out);
}
