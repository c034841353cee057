# Needs more memory than any device has.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        wide = torch.empty(80 << 30, dtype=x.dtype, device=x.device)
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        relu_kernel[grid](x, wide, x.numel(), B=1024)
        relu_kernel[grid](wide, y, x.numel(), B=1024)
        return y
