import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

THREADS = 128
WARPS = THREADS // 32


@cute.kernel
def rms_norm_kernel(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, eps: cutlass.Float32,
                    VECTOR: cutlass.Constexpr):
    tid = cute.arch.thread_idx()[0]
    row = cute.arch.block_idx()[0]
    columns = x.shape[1]
    vectors = columns // VECTOR
    smem = cutlass.utils.SmemAllocator()
    scratch = smem.allocate_tensor(cutlass.Float32, cute.make_layout(WARPS), 16)
    gX = cute.zipped_divide(x[row, None], (VECTOR,))  # (VECTOR, vectors)
    gY = cute.zipped_divide(y[row, None], (VECTOR,))
    gW = cute.zipped_divide(weight, (VECTOR,))
    mine = cute.ceil_div(vectors, THREADS)
    held = cute.make_rmem_tensor(((VECTOR,), mine), cutlass.Float32)
    held.fill(0.0)
    for i in cutlass.range_constexpr(mine):
        v = i * THREADS + tid
        if v < vectors:
            held[None, i].store(gX[None, v].load().to(cutlass.Float32))
    part = held.load()
    total = (part * part).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction_sum(total)
    warp = cute.arch.warp_idx()  # a shuffle: all lanes must take part
    if cute.arch.lane_idx() == 0:
        scratch[warp] = total
    cute.arch.sync_threads()
    total = scratch[0]
    for w in cutlass.range_constexpr(1, WARPS):
        total += scratch[w]
    scale = cute.math.rsqrt(total / columns + eps)
    for i in cutlass.range_constexpr(mine):
        v = i * THREADS + tid
        if v < vectors:
            w = gW[None, v].load().to(cutlass.Float32)
            gY[None, v].store((held[None, i].load() * scale * w).to(y.element_type))


@cute.jit
def rms_norm(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, eps: cutlass.Float32):
    vector = 128 // x.element_type.width
    rms_norm_kernel(x, weight, y, eps, vector).launch(
        grid=[x.shape[0], 1, 1], block=[THREADS, 1, 1]
    )


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))
        self.eps = eps
        self.compiled = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows = (x.view(-1, x.shape[-1]), self.weight.detach(), y.view(-1, x.shape[-1]))
        args = (*(from_dlpack(t, assumed_align=16) for t in rows), self.eps)
        key = (x.shape, x.dtype)
        if key not in self.compiled:
            self.compiled[key] = cute.compile(rms_norm, *args)
        self.compiled[key](*args)
        return y
