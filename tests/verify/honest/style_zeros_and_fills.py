"""Memory that is filled before kernels add to it."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    base = tl.load(y + i, mask=i < n) + tl.load(z + i, mask=i < n)
    tl.store(y + i, base + v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        z = torch.full((x.numel(),), 1.5, device=x.device)
        z.fill_(0.25)
        y[:] = -0.25
        add_kernel[(2,)](x, y, z, x.numel(), B=256)
        return y
