"""Kernels in a dictionary, chosen by name."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)


KERNELS = {"relu": relu_kernel, "silu": silu_kernel}


class ModelNew(nn.Module):
    def __init__(self, name="silu"):
        super().__init__()
        self.name = name

    def forward(self, x):
        y = torch.empty_like(x)
        KERNELS[self.name][lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel(), B=256)
        return y
