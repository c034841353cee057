import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

void add_and_divide_kernel(const float *x, float *total, float *y, int64_t rows,
                           int64_t columns, int64_t calls)
{
    for (int64_t j = 0; j < columns; j++) {
        double sum = total[j];
        for (int64_t i = 0; i < rows; i++)
            sum += x[i * columns + j];
        total[j] = (float)sum;
        y[j] = total[j] / (float)calls;
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.total = torch.zeros(size)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = torch.empty_like(self.total)
        lib.add_and_divide_kernel(
            x.contiguous(), self.total, y, x.shape[0], x.shape[1], self.calls
        )
        return y
