import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

void place_kernel(const float *x, float *y, int64_t rows, int64_t columns, int64_t width,
                  int64_t first, float factor)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            y[i * width + first + j] = x[i * columns + j] * factor;
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, parts):
        rows, width = parts[0].shape[0], sum(p.shape[1] for p in parts)
        y = torch.empty(rows, width)
        first = 0
        for i, part in enumerate(parts):
            lib.place_kernel(part.contiguous(), y, rows, part.shape[1], width, first, i + 1.0)
            first += part.shape[1]
        return y
