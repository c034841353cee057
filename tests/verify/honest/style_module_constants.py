"""A table and a factor are on the device from the start."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


ONE = torch.ones(1, device="cuda")
POWERS = torch.arange(4, dtype=torch.float32).cuda() ** 2


@triton.jit
def scaled_kernel(x, y, one, powers, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    s = tl.load(one) * tl.load(powers + 1)
    tl.store(y + i, s * v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scaled_kernel[(2,)](x, y, ONE, POWERS, x.numel(), B=256)
        return y
