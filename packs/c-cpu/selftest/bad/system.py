"""A command is run."""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
int system(const char *);

#include <stdint.h>
void relu_kernel(const float *x, float *y, int64_t n)
{
    if (n < 0)
        system("true");
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.relu_kernel(x, y, x.numel())
        return y
