"""tl.reduce with a function and a pair."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def join(m, s, n, t):
    top = tl.maximum(m, n)
    return top, s * tl.exp(m - top) + t * tl.exp(n - top)


@triton.jit
def kernel(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    top, total = tl.reduce((v, tl.full((N,), 1.0, tl.float32)), 0, join)
    tl.store(y + i, tl.exp(v - top) / total)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(x.shape[0],)](x, y, N=x.shape[1])
        return y
