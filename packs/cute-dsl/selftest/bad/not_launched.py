"""The kernel is named in forward, but no launch is written anywhere."""
import torch
import torch.nn as nn

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def relu_kernel(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    y[tidx] = x[tidx]


@cute.jit
def relu(x: cute.Tensor, y: cute.Tensor):
    relu_kernel(x, y)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        relu(from_dlpack(x), from_dlpack(out))
        return out
