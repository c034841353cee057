"""The grid is a closure over what forward knows."""

import functools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


def grid_for(n, key="B"):
    def grid(meta):
        return (triton.cdiv(n, meta[key]), 1, 1)

    return grid


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        launch = functools.partial(silu_kernel[grid_for(x.numel())], x, y, x.numel())
        launch(B=64, num_warps=2)
        return y
