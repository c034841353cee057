"""A dict with a tuple, from one kernel with three outputs."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, low, high, arg, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    best, at = tl.max(v, axis=0, return_indices=True)
    tl.store(high + row, best)
    tl.store(arg + row, at.to(tl.int64))
    tl.store(low + row, tl.min(tl.where(i < n, v, float("inf")), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        low, high = torch.empty(2, x.shape[0], device=x.device).unbind(0)
        arg = torch.empty(x.shape[0], dtype=torch.long, device=x.device)
        kernel[(x.shape[0],)](x, low, high, arg, x.shape[1], B=64)
        return {"minmax": (low, high), "arg": arg, "rows": x.shape[0]}
