import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>
#include <string.h>

/* A row of C takes in the rows of B, each times one number of A. */
void matmul_kernel(const float *restrict a, const float *restrict b, float *restrict c,
                   int64_t m, int64_t n, int64_t k)
{
    memset(c, 0, sizeof(*c) * (size_t)(m * n));
    for (int64_t i = 0; i < m; i++) {
        float *row = c + i * n;
        for (int64_t p = 0; p < k; p++) {
            float f = a[i * k + p];
            for (int64_t j = 0; j < n; j++)
                row[j] += f * b[p * n + j];
        }
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        A, B = A.contiguous(), B.contiguous()
        m, k = A.shape
        n = B.shape[1]
        C = torch.empty((m, n), dtype=A.dtype, device=A.device)
        lib.matmul_kernel(A, B, C, m, n, k)
        return C
