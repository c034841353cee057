"""Kernels that call kernels that call kernels."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sigmoid(v):
    return 1.0 / (1.0 + tl.exp(-v))


@triton.jit
def gated(v, gate):
    return v * sigmoid(gate)


@triton.jit
def load_block(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    return i, tl.load(x + i, mask=i < n, other=0.0)


@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    i, v = load_block(x, n, B)
    tl.store(y + i, gated(v, v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(2,)](x, y, x.numel(), B=256)
        return y
