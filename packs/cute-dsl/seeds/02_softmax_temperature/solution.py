import operator

import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

THREADS = 256
WARPS = THREADS // 32


@cute.jit
def over_block(value: cutlass.Float32, scratch: cute.Tensor, op: cutlass.Constexpr):
    """The same value in all threads: over lanes by shuffles, over warps by shared memory."""
    value = cute.arch.warp_reduction(value, op)
    warp = cute.arch.warp_idx()  # a shuffle: all lanes must take part
    if cute.arch.lane_idx() == 0:
        scratch[warp] = value
    cute.arch.sync_threads()
    result = scratch[0]
    for w in cutlass.range_constexpr(1, WARPS):
        result = op(result, scratch[w])
    cute.arch.sync_threads()
    return result


@cute.kernel
def softmax_kernel(x: cute.Tensor, y: cute.Tensor, factor: cutlass.Float32):
    tid = cute.arch.thread_idx()[0]
    row = cute.arch.block_idx()[0]
    columns = x.shape[1]
    smem = cutlass.utils.SmemAllocator()
    scratch = smem.allocate_tensor(cutlass.Float32, cute.make_layout(WARPS), 16)
    held = cute.make_rmem_tensor(cute.ceil_div(columns, THREADS), cutlass.Float32)
    peak = -cutlass.Float32.inf
    for i in cutlass.range_constexpr(cute.size(held)):
        c = i * THREADS + tid
        held[i] = -cutlass.Float32.inf
        if c < columns:
            held[i] = x[row, c].to(cutlass.Float32) * factor
        peak = cute.arch.fmax(peak, held[i])
    peak = over_block(peak, scratch, cute.arch.fmax)
    total = cutlass.Float32(0.0)
    for i in cutlass.range_constexpr(cute.size(held)):
        held[i] = cute.math.exp2(held[i] - peak)
        total += held[i]
    total = over_block(total, scratch, operator.add)
    for i in cutlass.range_constexpr(cute.size(held)):
        c = i * THREADS + tid
        if c < columns:
            y[row, c] = (held[i] / total).to(y.element_type)


@cute.jit
def softmax(x: cute.Tensor, y: cute.Tensor, factor: cutlass.Float32):
    softmax_kernel(x, y, factor).launch(grid=[x.shape[0], 1, 1], block=[THREADS, 1, 1])


class ModelNew(nn.Module):
    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature
        self.compiled = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        factor = 1.4426950408889634 / self.temperature  # exp2 is the faster exponential
        args = (*(from_dlpack(t, assumed_align=16) for t in (x, y)), factor)
        key = (x.shape, x.dtype)
        if key not in self.compiled:
            self.compiled[key] = cute.compile(softmax, *args)
        self.compiled[key](*args)
        return y
