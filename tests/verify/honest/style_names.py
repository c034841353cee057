"""Other names for the language and what is in it."""

import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language as T
from triton import cdiv, jit, next_power_of_2
from triton.language import arange, exp


@jit
def kernel(x, y, n, B: T.constexpr):
    T.static_assert(B >= 16, "blocks are not that small")
    i = T.program_id(axis=0) * B + arange(0, B)
    v = T.load(x + i, mask=i < n, other=0.0)
    T.device_assert(i >= 0, "never below zero")
    T.store(y + i, v * T.math.fdiv(1.0, 1.0 + exp(-v)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(cdiv(x.numel(), 256),)](x, y, x.numel(), B=next_power_of_2(200))
        return y
