import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

void rms_norm_rows_kernel(const float *restrict x, const float *restrict weight,
                          float *restrict y, int64_t rows, int64_t columns, double eps)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *in = x + i * columns;
        float *out = y + i * columns;
        double squares = 0.0;

        for (int64_t j = 0; j < columns; j++)
            squares += (double)in[j] * in[j];
        float scale = (float)(1.0 / sqrt(squares / (double)columns + eps));
        for (int64_t j = 0; j < columns; j++)
            out[j] = in[j] * scale * weight[j];
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.rms_norm_rows_kernel(x, self.weight, y, x.shape[0], x.shape[1], self.eps)
        return y
