import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

THREADS, EACH = 256, 8
WARPS, TILE = THREADS // 32, THREADS * EACH


@cute.kernel
def cumsum_kernel(x: cute.Tensor, y: cute.Tensor):
    tid = cute.arch.thread_idx()[0]
    row = cute.arch.block_idx()[0]
    lane, wid = cute.arch.lane_idx(), cute.arch.warp_idx()
    columns = x.shape[1]
    smem = cutlass.utils.SmemAllocator()
    sums = smem.allocate_tensor(cutlass.Float32, cute.make_layout(WARPS), 16)
    held = cute.make_rmem_tensor(EACH, cutlass.Float32)
    carry = cutlass.Float32(0.0)
    for tile in cutlass.range(cute.ceil_div(columns, TILE)):
        first = tile * TILE + tid * EACH
        running = cutlass.Float32(0.0)
        for i in cutlass.range_constexpr(EACH):
            if first + i < columns:
                running += x[row, first + i].to(cutlass.Float32)
            held[i] = running
        scanned = running  # over the lanes of a warp
        for k in cutlass.range_constexpr(5):
            other = cute.arch.shuffle_sync_up(scanned, 1 << k, mask_and_clamp=0)
            if lane >= (1 << k):
                scanned += other
        if lane == 31:
            sums[wid] = scanned
        cute.arch.sync_threads()
        before = carry + scanned - running
        for w in cutlass.range_constexpr(WARPS):
            s = sums[w]
            if w < wid:
                before += s
            carry += s
        for i in cutlass.range_constexpr(EACH):
            if first + i < columns:
                y[row, first + i] = (before + held[i]).to(y.element_type)
        cute.arch.sync_threads()  # before the next tile's sums


@cute.jit
def cumsum(x: cute.Tensor, y: cute.Tensor):
    cumsum_kernel(x, y).launch(grid=[x.shape[0], 1, 1], block=[THREADS, 1, 1])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        tensors = [from_dlpack(t, assumed_align=16) for t in (x, y)]
        key = (x.shape, x.dtype)
        if key not in self.compiled:
            self.compiled[key] = cute.compile(cumsum, *tensors)
        self.compiled[key](*tensors)
        return y
