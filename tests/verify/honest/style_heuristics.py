"""Heuristics choose the block and whether masks are needed."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({
    "B": lambda args: triton.next_power_of_2(min(args["n"], 256)),
    "EVEN": lambda args: args["n"] % 256 == 0,
})
@triton.jit
def kernel(x, y, n, EVEN: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if EVEN:
        v = tl.load(x + i)
        tl.store(y + i, v * tl.sigmoid(v))
    else:
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(meta["n"], meta["B"]),)](x, y, x.numel())
        return y
