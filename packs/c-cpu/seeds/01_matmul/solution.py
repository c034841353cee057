import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>
#include <string.h>

#define COLS 256
#define DEPTH 64

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A stretch of one row of C takes in four rows of B. */
static void add_four_rows(float *restrict c, const float *a, const float *restrict b,
                          int64_t n, int64_t count)
{
    const float *b1 = b + n, *b2 = b1 + n, *b3 = b2 + n;
    float a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];

    for (int64_t j = 0; j < count; j++)
        c[j] += a0 * b[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
}

static void add_row(float *restrict c, float a, const float *restrict b, int64_t count)
{
    for (int64_t j = 0; j < count; j++)
        c[j] += a * b[j];
}

/* One block of B, `depth` x `count`, against every row of A. */
static void add_block(const float *a, const float *b, float *c,
                      int64_t m, int64_t n, int64_t k, int64_t depth, int64_t count)
{
    for (int64_t i = 0; i < m; i++) {
        int64_t p = 0;
        for (; p + 4 <= depth; p += 4)
            add_four_rows(c + i * n, a + i * k + p, b + p * n, n, count);
        for (; p < depth; p++)
            add_row(c + i * n, a[i * k + p], b + p * n, count);
    }
}

void matmul_kernel(const float *a, const float *b, float *c,
                   int64_t m, int64_t n, int64_t k)
{
    memset(c, 0, sizeof(*c) * (size_t)(m * n));
    for (int64_t j = 0; j < n; j += COLS)
        for (int64_t p = 0; p < k; p += DEPTH)
            add_block(a + p, b + p * n + j, c + j, m, n, k,
                      min64(DEPTH, k - p), min64(COLS, n - j));
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        a, b = A.contiguous(), B.contiguous()
        m, k = a.shape
        n = b.shape[1]
        c = torch.empty(m, n, dtype=a.dtype, device=a.device)
        lib.matmul_kernel(a, b, c, m, n, k)
        return c
