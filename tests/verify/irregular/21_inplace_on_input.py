"""The reference overwrites its argument; a kernel must not, and need not."""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>

void clip_kernel(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] < 0.0f ? 0.0f : x[i] > 0.8f ? 0.8f : x[i];
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.clip_kernel(x, y, x.numel())
        return y
