# A plain Python global in a kernel, which only the interpreter takes.
import torch
import torch.nn as nn
import triton
import triton.language as tl

LIMIT = 0.0


@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), LIMIT), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(2,)](x, y, x.numel(), B=8192)
        return y
