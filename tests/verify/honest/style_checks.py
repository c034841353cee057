"""Shapes and devices are checked by hand."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


def check(x):
    if x.dim() != 2:
        raise ValueError(f"two dimensions were expected, got {x.dim()}")
    if not x.is_contiguous():
        raise ValueError("a contiguous tensor was expected")
    assert x.is_cuda and x.dtype is torch.float32, "float32 on the GPU"
    assert x.device.type == "cuda" and x.layout is torch.strided
    return x.shape


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = check(x)
        y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
        silu_kernel[(triton.cdiv(rows * columns, 256),)](x, y, rows * columns, B=256)
        return y
