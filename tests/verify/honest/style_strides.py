"""An input that is not contiguous is read by its strides."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, s0, s1, t0, t1, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * s0 + i * s1, mask=i < n, other=0.0)
    tl.store(y + row * t0 + i * t1, v * 2 + 1, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        kernel[(x.shape[0],)](x, y, *x.stride(), *y.stride(), x.size(1), B=64)
        return y
