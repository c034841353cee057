"""Scale a matrix tile by tile: TMA in, TMA out, barriers between; tuned, which
is allowed with a warning."""
import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.autotune(configs=[triton.Config({}, num_warps=4), triton.Config({}, num_warps=8)], key=[])
@triton.jit
def scale_kernel(x_desc, y_desc, scale, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    tiles = tlx.local_alloc((BM, BN), tlx.dtype_of(x_desc), 1)
    bars = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    tile = tlx.local_view(tiles, 0)
    full = tlx.local_view(bars, 0)
    tlx.barrier_expect_bytes(full, BM * BN * tlx.size_of(tlx.dtype_of(x_desc)))
    tlx.async_descriptor_load(x_desc, tile, [m, n], full)
    tlx.barrier_wait(full, 0)
    tlx.local_store(tile, tlx.local_load(tile) * scale)
    tlx.fence("async_shared")
    tlx.async_descriptor_store(y_desc, tile, [m, n])
    tlx.async_descriptor_store_wait(0)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        y = torch.empty_like(x)
        x_desc = TensorDescriptor.from_tensor(x, [64, 64])
        y_desc = TensorDescriptor.from_tensor(y, [64, 64])
        grid = (triton.cdiv(x.shape[0], 64), triton.cdiv(x.shape[1], 64))
        scale_kernel[grid](x_desc, y_desc, self.scale, BM=64, BN=64)
        return y
