# The constructor draws weights that it does not register.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def affine_kernel(x, scale, shift, y, COLUMNS: tl.constexpr):
    i = tl.arange(0, COLUMNS)
    at = tl.program_id(0) * COLUMNS + i
    tl.store(y + at, tl.load(x + at) * tl.load(scale + i) + tl.load(shift + i))


class ModelNew(nn.Module):
    def __init__(self, shift):
        super().__init__()
        self.scale = torch.rand(1024) + 0.5
        self.shift = shift

    def forward(self, x):
        y = torch.empty_like(x)
        affine_kernel[(x.shape[0],)](x, self.scale, self.shift, y, COLUMNS=1024)
        return y
