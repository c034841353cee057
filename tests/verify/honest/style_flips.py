"""Flips by torch around a scan in a kernel."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, tl.cumsum(tl.load(x + i), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        back = torch.flip(x, dims=[1])
        y = torch.empty_like(back)
        kernel[(x.shape[0],)](back, y, N=x.shape[1])
        return y.flip(1)
