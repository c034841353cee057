"""What a launch needs is kept by shape, in a set and a dict of the model."""

import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = set()
        self.plans = {}

    def plan(self, shape):
        if shape not in self.plans:
            n = math.prod(shape)
            sizes = [64, 512, 256, 128]
            sizes.sort()
            self.plans[shape] = next(s for s in sizes if s * 2 >= n), n
        self.seen.add(shape)
        return self.plans[shape]

    def forward(self, x):
        block, n = self.plan(tuple(x.shape))
        y = torch.empty_like(x)
        silu_kernel[(triton.cdiv(n, block),)](x, y, n, B=block)
        return y
