"""Kernels come out of a factory, one for each block size."""

import functools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@functools.lru_cache(maxsize=None)
def make_kernel(block: int, scale: float):
    B = tl.constexpr(block)
    factor = tl.constexpr(scale)

    @triton.jit
    def kernel(x, y, n):
        i = tl.program_id(0) * B + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, factor * v * tl.sigmoid(v), mask=i < n)

    return kernel


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        make_kernel(256, 1.0)[(triton.cdiv(x.numel(), 256),)](x, y, x.numel())
        return y
