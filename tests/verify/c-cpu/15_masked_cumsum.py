import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdbool.h>
#include <stdint.h>

void masked_cumsum_kernel(const float *restrict x, const bool *restrict mask,
                          float *restrict y, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int64_t j = i * columns; j < (i + 1) * columns; j++) {
            sum += mask[j] ? x[j] : 0.0f;
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

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, -1).contiguous()
        mask = mask.movedim(self.dim, -1).contiguous()
        columns = x.shape[-1]
        y = torch.empty_like(x)
        lib.masked_cumsum_kernel(x, mask, y, x.numel() // columns, columns)
        return y.movedim(-1, self.dim)
