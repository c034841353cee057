"""Exact GELU. Functions that the language lacks come from libdevice, which is
part of Triton; `self.fn` is an attribute of the model, not a kernel's `.fn`."""
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    y = 0.5 * x * (1.0 + libdevice.erf(x * 0.7071067811865476))
    tl.store(y_ptr + i, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fn = gelu_kernel

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        self.fn[(triton.cdiv(n, 512),)](x, y, n, BLOCK=512)
        return y
