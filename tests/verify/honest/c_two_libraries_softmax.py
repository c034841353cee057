"""Two sources, two libraries; the second works in place on what the first wrote."""
import torch
import torch.nn as nn
from c_cpu import build

EXPONENTIALS = r"""
#include <math.h>
#include <stdint.h>
void exponentials_kernel(const float *restrict x, float *restrict y, double *restrict sums,
                         int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        float top = -INFINITY;
        sums[i] = 0.0;
        for (int64_t j = 0; j < columns; j++)
            top = fmaxf(top, x[i * columns + j]);
        for (int64_t j = 0; j < columns; j++) {
            y[i * columns + j] = expf(x[i * columns + j] - top);
            sums[i] += y[i * columns + j];
        }
    }
}
"""

exponentials = build(EXPONENTIALS)
shares = build(
    r"""
#include <stdint.h>
/* A comment with "quotes", // slashes and torch.softmax(x, dim=1) in it. */
void shares_kernel(float *y, const double *sums, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows * columns; i++)
        y[i] = (float)(y[i] / sums[i / columns]);
}
"""
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, columns = x.shape
        y = torch.empty_like(x)
        sums = torch.empty(rows, dtype=torch.float64)
        exponentials.exponentials_kernel(x, y, sums, rows, columns)
        shares.shares_kernel(y, sums, rows, columns)
        return y
