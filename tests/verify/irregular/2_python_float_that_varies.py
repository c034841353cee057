import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdbool.h>
#include <stdint.h>

void shifted_sums_kernel(const float *x, float *y, int64_t rows, int64_t columns, float s,
                         bool flip)
{
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int64_t j = 0; j < columns; j++)
            sum += flip ? x[i * columns + j] - s : x[i * columns + j] + s;
        y[i] = (float)sum;
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor, s: float, flip: bool) -> torch.Tensor:
        y = torch.empty(x.shape[0], dtype=x.dtype)
        lib.shifted_sums_kernel(x.contiguous(), y, x.shape[0], x.shape[1], s, flip)
        return y
