"""Kernels write into slices of one output."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, stride, n, RELU: tl.constexpr, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    v = tl.maximum(v, 0.0) if RELU else tl.sigmoid(v)
    tl.store(y + row * stride + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        y = x.new_empty((rows, 2 * n))
        for at, relu in enumerate((True, False)):
            kernel[(rows,)](x, y[:, at * n : (at + 1) * n], y.stride(0), n, RELU=relu, B=64)
        return y
