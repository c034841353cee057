"""Parameters under the same names, registered by hand and from a state dict."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, p, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i)
    d = v - tl.sum(v, axis=0) / N
    d = d / tl.sqrt(tl.sum(d * d, axis=0) / N + 1e-5)
    tl.store(y + row * N + i, d * tl.load(p + i) + tl.load(p + N + i))


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_parameter("bias", nn.Parameter(torch.zeros(n)))
        self.register_parameter("weight", nn.Parameter(torch.ones(n)))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = Norm(features)
        self.norm.load_state_dict(nn.LayerNorm(features).state_dict())

    def forward(self, x):
        y, n = torch.empty_like(x), x.shape[1]
        both = torch.cat([self.norm.weight, self.norm.bias])
        kernel[(x.shape[0],)](x, both, y, N=n)
        return y
