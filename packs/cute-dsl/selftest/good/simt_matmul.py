"""C = A B, one output a thread: a 16 x 16 block stages tiles of A and B in shared memory."""
import torch
import torch.nn as nn

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

TILE = 16


@cute.kernel
def matmul_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    m, k = mA.shape
    n = mB.shape[1]
    row = by * TILE + ty
    col = bx * TILE + tx
    smem = cutlass.utils.SmemAllocator()
    layout = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    sA = smem.allocate_tensor(cutlass.Float32, layout, byte_alignment=16)
    sB = smem.allocate_tensor(cutlass.Float32, layout, byte_alignment=16)
    acc = cutlass.Float32(0.0)
    for step in range(cute.ceil_div(k, TILE)):
        sA[ty, tx] = cutlass.Float32(0.0)
        sB[ty, tx] = cutlass.Float32(0.0)
        if row < m:
            if step * TILE + tx < k:
                sA[ty, tx] = mA[row, step * TILE + tx].to(cutlass.Float32)
        if col < n:
            if step * TILE + ty < k:
                sB[ty, tx] = mB[step * TILE + ty, col].to(cutlass.Float32)
        cute.arch.sync_threads()
        for i in cutlass.range_constexpr(TILE):
            acc += sA[ty, i] * sB[i, tx]
        cute.arch.sync_threads()
    if row < m:
        if col < n:
            mC[row, col] = acc.to(mC.element_type)


@cute.jit
def matmul(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    m, n = mC.shape
    matmul_kernel(mA, mB, mC).launch(
        grid=[cute.ceil_div(n, TILE), cute.ceil_div(m, TILE), 1], block=[TILE, TILE, 1]
    )


class ModelNew(nn.Module):
    """Forward pass: the product of a and b."""

    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        out = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
        matmul(from_dlpack(a.contiguous()), from_dlpack(b.contiguous()), from_dlpack(out))
        return out
