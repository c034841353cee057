import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

static void softmax(const float *restrict x, float *restrict y, int64_t n)
{
    float top = -INFINITY;
    double sum = 0.0;

    for (int64_t j = 0; j < n; j++)
        top = x[j] > top ? x[j] : top;
    for (int64_t j = 0; j < n; j++) {
        y[j] = expf(x[j] - top);
        sum += y[j];
    }
    float scale = (float)(1.0 / sum);
    for (int64_t j = 0; j < n; j++)
        y[j] *= scale;
}

void softmax_rows_kernel(const float *x, float *y, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        softmax(x + i * columns, y + i * columns, columns);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.softmax_rows_kernel(x, y, x.shape[0], x.shape[1])
        return y
