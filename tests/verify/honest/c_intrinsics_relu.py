# Vector intrinsics of the processor that there is, with aligned loads where memory is aligned, and a
# loop for the rest.
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

static inline __attribute__((always_inline)) float one(float v)
{
    return __builtin_expect(v > 0, 1) ? v : 0;
}

void relu_kernel(const float *restrict x, float *restrict y, int64_t n)
{
    int64_t i = 0;
#if defined(__SSE2__)
    const __m128 zero = _mm_setzero_ps();

    if ((((uintptr_t)x | (uintptr_t)y) & 15) == 0)
        for (; i + 8 <= n; i += 8) {
            _mm_prefetch((const char *)(x + i + 64), _MM_HINT_T0);
            _mm_store_ps(y + i, _mm_max_ps(_mm_load_ps(x + i), zero));
            _mm_store_ps(y + i + 4, _mm_max_ps(_mm_load_ps(x + i + 4), zero));
        }
    else
        for (; i + 4 <= n; i += 4)
            _mm_storeu_ps(y + i, _mm_max_ps(_mm_loadu_ps(x + i), zero));
#elif defined(__ARM_NEON)
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vmaxq_f32(vld1q_f32(x + i), vdupq_n_f32(0)));
#endif
    for (; i < n; i++)
        y[i] = one(x[i]);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu_kernel(x, y, x.numel())
        return y
