"""Parts of a Sequential by index; two kernels."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x, w, b, y, n, k, RELU: tl.constexpr, B: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    j = tl.program_id(1) * B + tl.arange(0, B)
    i = tl.arange(0, K)
    v = tl.load(x + row * k + i, mask=i < k, other=0.0)
    m = tl.load(w + j[:, None] * k + i[None, :], mask=(j[:, None] < n) & (i[None, :] < k), other=0.0)
    s = tl.sum(m * v[None, :], axis=1) + tl.load(b + j, mask=j < n, other=0.0)
    if RELU:
        s = tl.maximum(s, 0.0)
    tl.store(y + row * n + j, s, mask=j < n)


def linear(x, w, b, relu=False):
    y = torch.empty(x.shape[0], w.shape[0], device=x.device)
    grid = (x.shape[0], triton.cdiv(w.shape[0], 16))
    k = x.shape[1]
    linear_kernel[grid](x, w, b, y, w.shape[0], k, relu, B=16, K=triton.next_power_of_2(k))
    return y


@triton.jit
def norm_kernel(x, w, b, y, eps, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i)
    d = v - tl.sum(v, axis=0) / N
    d *= tl.rsqrt(tl.sum(d * d, axis=0) / N + eps)
    tl.store(y + row * N + i, d * tl.load(w + i) + tl.load(b + i))


@triton.jit
def add_kernel(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, tl.load(x + i) + tl.load(y + i))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(features), nn.Linear(features, features))

    def forward(self, x):
        norm, fc = self.net
        h = torch.empty_like(x)
        norm_kernel[(x.shape[0],)](x, norm.weight, norm.bias, h, norm.eps, N=x.shape[1])
        y = linear(h, fc.weight, self.net[-1].bias)
        add_kernel[(x.shape[0],)](x, y, N=x.shape[1])
        return y
