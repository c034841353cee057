# Row 71: a scratch tensor is read before it is written. What nobody wrote is NaN.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, s, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0) + tl.load(s + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y, scratch = torch.empty_like(x), torch.empty_like(x)
        add_kernel[(2,)](x, scratch, y, x.numel(), B=8192)
        return y
