"""Pointers and sizes travel in tuples."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(tensors, sizes, B: tl.constexpr):
    rows, columns = sizes
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(tensors[0] + i, mask=i < rows * columns, other=0.0)
    tl.store(tensors[1] + i, v * tl.sigmoid(v), mask=i < rows * columns)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(2,)]((x, y), tuple(x.shape), B=256)
        return y
