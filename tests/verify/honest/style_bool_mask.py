"""A bool tensor as an argument."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, mask, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    keep = tl.load(mask + i, mask=i < n, other=0)
    tl.store(y + i, tl.where(keep, v, v * 0.5), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        kernel[(2,)](x, mask, y, x.numel(), B=256)
        return y
