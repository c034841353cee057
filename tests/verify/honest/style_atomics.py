"""Sums by atomics into memory that is zeroed."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.load(a + i, mask=i < n, other=0.0) - tl.load(b + i, mask=i < n, other=0.0)
    tl.atomic_add(y, tl.sum(d * d, axis=0) / n, sem="relaxed")


class ModelNew(nn.Module):
    def forward(self, prediction, target):
        y = torch.zeros((), device=prediction.device)
        n = prediction.numel()
        kernel[(triton.cdiv(n, 512),)](prediction, target, y, n, B=512)
        return y
