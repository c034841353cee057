"""Elementwise relu: each block comes through shared memory by an asynchronous
copy."""
import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    buffers = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), 1)
    view = tlx.local_view(buffers, 0)
    token = tlx.async_load(x_ptr + i, view, mask=mask)
    tlx.async_load_commit_group([token])
    tlx.async_load_wait_group(0)
    x = tlx.local_load(view)
    tl.store(y_ptr + i, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        relu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
        return y
