"""Parameters in a ParameterList and a ParameterDict."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate_kernel(x, a, b, c, y, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * n + i, mask=mask, other=0.0) * tl.load(a + i, mask=mask, other=0.0)
    v = tl.sigmoid(v) * tl.load(b + i, mask=mask) + tl.load(c + i, mask=mask)
    tl.store(y + row * n + i, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gains = nn.ParameterList([torch.zeros(features), torch.zeros(features)])
        self.shifts = nn.ParameterDict({"out": nn.Parameter(torch.zeros(features))})

    def forward(self, x):
        y = torch.empty_like(x)
        first, second = self.gains
        gate_kernel[(x.shape[0],)](x, first, second, self.shifts["out"], y, x.shape[1], B=64)
        return y
