"""Numbers among the arguments of forward."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, alpha, steps, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * alpha + steps, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, alpha=1.0, steps=0):
        y = torch.empty_like(x)
        kernel[(2,)](x, y, x.numel(), float(alpha), int(steps), B=256)
        return y
