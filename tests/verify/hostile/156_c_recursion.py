# In C: a recursion without end.
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
static int deep(volatile int *p) { volatile int here[256]; here[0] = *p; return deep(here) + here[255]; }

#include <stdint.h>
void relu_kernel(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    volatile int v = 0; y[0] += deep(&v);
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu_kernel(x, y, x.numel())
        return y
