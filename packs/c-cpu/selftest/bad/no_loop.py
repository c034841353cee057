"""A kernel that computes nothing to speak of."""
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
void relu_kernel(const float *x, float *y, long n) { y[0] = x[0] * n; }
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
