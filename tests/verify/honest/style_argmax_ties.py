"""Indices from a kernel, through a wider type."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    tl.store(y + row, tl.argmax(v, axis=0, tie_break_left=True))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], dtype=torch.int32, device=x.device)
        kernel[(x.shape[0],)](x, y, x.shape[1], B=128)
        return y.to(torch.int64)
