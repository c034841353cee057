import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

void plane_mean_kernel(const float *x, float *y, int64_t planes, int64_t size)
{
    for (int64_t p = 0; p < planes; p++) {
        double sum = 0.0;
        for (int64_t j = p * size; j < (p + 1) * size; j++)
            sum += x[j];
        y[p] = (float)(sum / (double)size);
    }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        y = torch.empty((batch, channels), dtype=x.dtype, device=x.device)
        lib.plane_mean_kernel(x, y, batch * channels, height * width)
        return y
