"""Padding by torch, so that the kernel needs no edges."""

import torch
import torch.nn as nn
import triton
import triton.language as tl
import torch.nn.functional as F


@triton.jit
def kernel(x, taps, y, n, wide, SIZE: tl.constexpr, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    s = tl.zeros((B,), tl.float32)
    for k in range(SIZE):
        s += tl.load(x + row * wide + i + k, mask=i < n, other=0.0) * tl.load(taps + k)
    tl.store(y + row * n + i, s, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.taps = nn.Parameter(torch.randn(size))

    def forward(self, x):
        size = self.taps.numel()
        padded = F.pad(x, (size // 2, size // 2), mode="constant", value=0.0)
        y = torch.empty_like(x)
        kernel[(x.shape[0],)](padded, self.taps, y, x.shape[1], padded.shape[1], SIZE=size, B=32)
        return y
