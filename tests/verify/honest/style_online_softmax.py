"""A softmax in two passes over pieces of a row."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    x += tl.program_id(0) * n
    y += tl.program_id(0) * n
    top, total = -float("inf"), 0.0
    for at in range(0, n, B):
        i = at + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(v, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new), axis=0)
        top = new
    for at in range(0, n, B):
        i = at + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=-float("inf"))
        tl.store(y + i, tl.exp(v - top) / total, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        kernel[x.shape[:1]](x, y, x.shape[-1], B=32)
        return y
