# Row 72: a value behind the input's end enters the result. What lies there is NaN.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    behind = tl.load(x + row * n + n)
    tl.store(y + row * n + i, tl.cumsum(v, axis=0) + behind * 0.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cumsum_kernel[(x.shape[0],)](x, y, x.shape[1], B=128)
        return y
