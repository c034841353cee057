"""Sum of two vectors staged through shared memory by asynchronous copies. The
words triton.jit, tl.load and triton.knobs are only in this docstring."""
import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy as cp


@gluon.jit
def combine(a, b):
    return a + b


@gluon.jit
def add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    smem_layout: gl.constexpr = gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[0])
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = i < n
    a_smem = gl.allocate_shared_memory(gl.float32, [BLOCK], smem_layout)
    b_smem = gl.allocate_shared_memory(gl.float32, [BLOCK], smem_layout)
    cp.async_copy_global_to_shared(a_smem, a_ptr + i, mask=mask)
    cp.async_copy_global_to_shared(b_smem, b_ptr + i, mask=mask)
    cp.commit_group()
    cp.wait_group(0)
    gl.store(c_ptr + i, combine(a_smem.load(layout), b_smem.load(layout)), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fn = add_kernel

    def forward(self, a, b):
        c = torch.empty_like(a)
        n = a.numel()
        self.fn[(triton.cdiv(n, 512),)](a, b, c, n, BLOCK=512)
        return c
