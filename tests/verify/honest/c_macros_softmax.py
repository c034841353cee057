# Generated functions, unrolled loops, checks at compile time and a message that names its line.
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#define NDEBUG
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>

#if __has_include(<tgmath.h>) && (__GNUC__ >= 4 || defined(__clang__))
#define LANES 8
#else
#define LANES 1
#endif
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define WHERE __FILE__ ":" STRING(__LINE__)
#define EACH(i) _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++)
#define MAX(a, b) ({ __typeof__(a) a_ = (a), b_ = (b); a_ > b_ ? a_ : b_; })

_Static_assert(LANES * sizeof(float) <= 64, "a line of the cache");

#define REDUCTION(name, first, step)                          \
    static float name(const float *restrict x, int64_t n)     \
    {                                                         \
        float lane[LANES], all = first;                       \
        int64_t i = 0;                                        \
                                                              \
        EACH(k) lane[k] = first;                              \
        for (; i + LANES <= n; i += LANES)                    \
            EACH(k) lane[k] = step(lane[k], x[i + k]);        \
        for (; i < n; i++)                                    \
            all = step(all, x[i]);                            \
        EACH(k) all = step(all, lane[k]);                     \
        return all;                                           \
    }
#define ADD(a, b) ((a) + (b))

REDUCTION(largest, -FLT_MAX, MAX)
REDUCTION(total, 0, ADD)
#undef REDUCTION

static const char where[] = WHERE;

void softmax_kernel(const float *restrict x, float *restrict y, int64_t rows, int64_t n)
{
    assert(rows > 0);
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        const float top = isfinite(largest(x, n)) ? largest(x, n) : (float)sizeof(where);

#pragma GCC unroll LANES
        for (int64_t i = 0; i < n; i++)
            y[i] = expf(x[i] - top);
        const float by = 1.0f / total(y, n);
        for (int64_t i = 0; i < n; i++)
            y[i] *= by;
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.softmax_kernel(x, y, x.numel() // x.shape[-1], x.shape[-1])
        return y
