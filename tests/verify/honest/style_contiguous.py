"""An input is made contiguous when it is not."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) * 2 + 1, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        if not x.is_contiguous():
            x = x.contiguous()
        y = torch.empty_like(x)
        kernel[(2,)](x, y, x.numel(), B=256)
        return y
