import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

static void normalise(const float *restrict x, const float *restrict weight,
                      const float *restrict bias, float *restrict y, int64_t n,
                      double eps)
{
    double sum = 0.0, squares = 0.0;

    for (int64_t j = 0; j < n; j++)
        sum += x[j];
    float mean = (float)(sum / (double)n);
    for (int64_t j = 0; j < n; j++)
        squares += (double)(x[j] - mean) * (x[j] - mean);
    float scale = (float)(1.0 / sqrt(squares / (double)n + eps));
    for (int64_t j = 0; j < n; j++)
        y[j] = (x[j] - mean) * scale * weight[j] + bias[j];
}

void layer_norm_rows_kernel(const float *x, const float *weight, const float *bias,
                            float *y, int64_t rows, int64_t columns, double eps)
{
    for (int64_t i = 0; i < rows; i++)
        normalise(x + i * columns, weight, bias, y + i * columns, columns, eps);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        columns = x.shape[-1]
        y = torch.empty_like(x)
        norm = self.norm
        lib.layer_norm_rows_kernel(
            x, norm.weight, norm.bias, y, x.numel() // columns, columns, norm.eps
        )
        return y
