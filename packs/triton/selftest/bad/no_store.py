"""The kernel is launched, but it writes nothing."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def look_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    x = x * 2


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        look_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
