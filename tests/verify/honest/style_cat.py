"""Outputs of two kernels are concatenated."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)


@triton.jit
def sigmoid_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.sigmoid(tl.load(x + i, mask=i < n)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        outs = []
        for kernel in (relu_kernel, sigmoid_kernel):
            outs.append(torch.empty_like(x))
            kernel[(2,)](x, outs[-1], x.numel(), B=256)
        return torch.cat(outs, dim=1)
