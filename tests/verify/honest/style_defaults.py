"""Defaults, keywords, annotations of types, and numbers that are not specialised."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"], noinline=False)
def kernel(x, y, n: tl.int64, scale: float = 1.0, shift=None, B: tl.constexpr = 256):
    """Scale is one and there is no shift."""
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    v = scale * v * tl.sigmoid(v)
    if shift is not None:
        v += tl.load(shift)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(2,)](y=y, x=x, n=x.numel())
        return y
