import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

void cumsum_rows_kernel(const float *restrict x, float *restrict y,
                        int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int64_t j = i * columns; j < (i + 1) * columns; j++) {
            sum += x[j];
            y[j] = (float)sum;
        }
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, -1).contiguous()
        columns = x.shape[-1]
        y = torch.empty_like(x)
        lib.cumsum_rows_kernel(x, y, x.numel() // columns, columns)
        return y.movedim(-1, self.dim)
