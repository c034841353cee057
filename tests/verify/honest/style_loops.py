"""while, range with a step, tl.range with stages, branches and conditional expressions."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, step, B: tl.constexpr):
    start = tl.program_id(0) * B
    if start >= n:
        return
    last = n if n < start + B else start + B
    at = start
    while at < last:
        i = at + tl.arange(0, 16)
        v = tl.load(x + i, mask=i < last, other=0.0)
        tl.store(y + i, v, mask=i < last)
        at += 16
    for at in range(start, last, step):
        i = at + tl.arange(0, 16)
        mask = (i < at + step) & (i < last)
        v = tl.load(y + i, mask=mask, other=0.0)
        tl.store(y + i, -v if step < 0 else v, mask=mask)
    for at in tl.range(start, last, 16, num_stages=2):
        i = at + tl.arange(0, 16)
        v = tl.load(y + i, mask=i < last, other=0.0)
        tl.store(y + i, v * tl.sigmoid(v), mask=i < last)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(6,)](x, y, x.numel(), 8, B=96)
        return y
