"""A list of outputs is stacked."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.exp(tl.load(x + i)))


class ModelNew(nn.Module):
    def forward(self, x):
        outs = [torch.empty_like(row) for row in x]
        for row, out in zip(x, outs):
            kernel[(1,)](row, out, N=row.shape[0])
        return torch.stack(outs, dim=0)
