"""A kernel is an argument of another one."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu(v):
    return v * tl.sigmoid(v)


@triton.jit
def map_kernel(x, y, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, F(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        map_kernel[(2,)](x, y, x.numel(), F=silu, B=256)
        return y
