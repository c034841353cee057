import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


def right(x):
    """The honest answer."""
    y = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 8192),)](x, y, x.numel(), B=8192)
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        return right(x)
