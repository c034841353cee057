"""Configurations, a key, and heuristics below."""

import itertools

import torch
import torch.nn as nn
import triton
import triton.language as tl


CONFIGS = [
    triton.Config({"B": block}, num_warps=warps)
    for block, warps in itertools.product((64, 128, 256), (2, 4))
]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def kernel(x, y, n, EVEN: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
        return y
