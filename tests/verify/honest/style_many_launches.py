"""Two hundred launches a call."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def step_kernel(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, 0.999 * tl.load(x + i) + 0.01)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for _ in range(200):
            step_kernel[(1,)](x, y, B=64)
            x = y
        return y
