"""Constants of the module, in both spellings."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


BLOCK: tl.constexpr = tl.constexpr(128)
TWO = tl.constexpr(2)
KIND = tl.constexpr(tl.float32)


@triton.jit
def kernel(x, y, n):
    i = tl.program_id(0) * BLOCK * TWO + tl.arange(0, BLOCK * TWO)
    v = tl.load(x + i, mask=i < n, other=0.0).to(KIND)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), BLOCK.value * TWO.value),)](x, y, x.numel())
        return y
