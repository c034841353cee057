import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

void weighted_mean_kernel(const float *x, const float *weights, float *y,
                          int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0.0, total = 0.0;
        for (int64_t j = i * columns; j < (i + 1) * columns; j++) {
            sum += (double)x[j] * weights[j];
            total += weights[j];
        }
        y[i] = (float)(sum / total);
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        x, weights = x.contiguous(), weights.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        lib.weighted_mean_kernel(x, weights, y, rows, columns)
        return y
