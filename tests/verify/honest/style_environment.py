"""The block size may come from the environment."""

import os

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


BLOCK = int(os.environ.get("SILU_BLOCK", "256"))
DEBUG = os.getenv("SILU_DEBUG") is not None


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        silu_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), B=BLOCK)
        if DEBUG:
            print(y.sum().item())
        return y
