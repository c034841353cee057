import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

static float logsumexp(const float *x, int64_t n)
{
    float top = x[0];
    double sum = 0.0;

    for (int64_t j = 1; j < n; j++)
        top = fmaxf(top, x[j]);
    for (int64_t j = 0; j < n; j++)
        sum += expf(x[j] - top);
    return top + (float)log(sum);
}

void logsumexp_rows_kernel(const float *x, float *y, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        y[i] = logsumexp(x + i * columns, columns);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        lib.logsumexp_rows_kernel(x, y, rows, columns)
        return y
