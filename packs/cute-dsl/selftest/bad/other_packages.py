"""Kernels of other packages that are written in CuTe, but not here."""
import torch
import torch.nn as nn

import cutlass.cute as cute
import cutlass_library
from cutlass.cute.runtime import from_dlpack
from flash_attn.cute import flash_attn_func
from quack.rmsnorm import rmsnorm


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    y[tidx] = x[tidx]


@cute.jit
def copy(x: cute.Tensor, y: cute.Tensor):
    copy_kernel(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, q, k, v):
        out = torch.empty_like(q)
        copy(from_dlpack(rmsnorm(flash_attn_func(q, k, v), self.weight)), from_dlpack(out))
        return out
