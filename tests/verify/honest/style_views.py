"""Chunks, splits, slices and other views are given to kernels."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pairs = list(zip(x.chunk(2, dim=0), y.chunk(2, dim=0)))
        for part, out in pairs[:1]:
            silu_kernel[(1,)](part, out, part.numel(), B=256)
        for part, out in zip(pairs[1][0].split(3), pairs[1][1].split(3)):
            rows = part.unbind(0), out.narrow(0, 0, out.size(0)).unbind(0)
            for row, to in zip(*rows):
                silu_kernel[(1,)](row.flatten(), to.reshape(-1), row.shape[-1], B=64)
        return y.unflatten(1, (8, 5)).flatten(1).view_as(x)
