"""A tuned kernel launched with a configuration of one's own: kernel.fn[grid]
passes by the tuner and is a launch like any other."""
import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.autotune(configs=[triton.Config({"BLOCK": 512}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def scale_kernel(x_ptr, y_ptr, scale, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    view = tlx.local_view(tlx.local_alloc((BLOCK,), tl.float32, 1), 0)
    tlx.async_load_commit_group([tlx.async_load(x_ptr + i, view, mask=i < n)])
    tlx.async_load_wait_group(0)
    tl.store(y_ptr + i, tlx.local_load(view) * scale, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        scale_kernel.fn[(triton.cdiv(n, 512),)](x, y, self.scale, n, BLOCK=512)
        return y
