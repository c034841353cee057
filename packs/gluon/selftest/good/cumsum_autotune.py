"""Inclusive row scan, tuned over the layout's shape."""
import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def plus(a, b):
    return a + b


@triton.autotune(configs=[triton.Config({"PER_THREAD": 1}), triton.Config({"PER_THREAD": 4})], key=["cols"])
@gluon.jit
def cumsum_kernel(x_ptr, y_ptr, cols, BLOCK: gl.constexpr, PER_THREAD: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([PER_THREAD], [32], [gl.num_warps()], [0])
    base = gl.program_id(0) * cols
    i = gl.arange(0, BLOCK, layout=layout)
    x = gl.load(x_ptr + base + i, mask=i < cols, other=0.0)
    gl.store(y_ptr + base + i, gl.associative_scan(x, 0, plus), mask=i < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        cols = x.shape[-1]
        cumsum_kernel[(x.numel() // cols,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
        return y
