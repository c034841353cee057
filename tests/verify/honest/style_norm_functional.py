"""Parameters are passed on as values; the layer is never called."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, b, y, n, eps, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * n + i, mask=mask, other=0.0)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(mask, v - mean, 0.0)
    inverse = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    out = d * inverse * tl.load(w + i, mask=mask) + tl.load(b + i, mask=mask)
    tl.store(y + row * n + i, out, mask=mask)


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    (n,) = shape
    y = torch.empty_like(x)
    flat = x.reshape(-1, n)
    kernel[(flat.shape[0],)](flat, weight, bias, y, n, eps, B=triton.next_power_of_2(n))
    return y.view(*x.shape)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        norm = self.norm
        return layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
