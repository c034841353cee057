import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def load_tiles(a_desc, b_desc, a_smem, b_smem, ready, step, steps, row, column,
               BK: gl.constexpr, STAGES: gl.constexpr):
    stage = step % STAGES
    bar = ready.index(stage)
    wanted = step < steps
    mbarrier.expect(bar, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=wanted)
    tma.async_copy_global_to_shared(
        a_desc, [row, step * BK], bar, a_smem.index(stage), pred=wanted
    )
    tma.async_copy_global_to_shared(
        b_desc, [step * BK, column], bar, b_smem.index(stage), pred=wanted
    )


@gluon.jit
def matmul_kernel(a_desc, b_desc, c_desc, K, limit, BM: gl.constexpr, BN: gl.constexpr,
                  BK: gl.constexpr, STAGES: gl.constexpr, WARPS: gl.constexpr):
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [WARPS, 1], [16, BN, 16])
    row = gl.program_id(0) * BM
    column = gl.program_id(1) * BN
    steps = gl.cdiv(K, BK)
    a_smem = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BM, BK], a_desc.layout)
    b_smem = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BK, BN], b_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
    for i in gl.static_range(STAGES - 1):
        load_tiles(a_desc, b_desc, a_smem, b_smem, ready, i, steps, row, column, BK, STAGES)
    acc = gl.zeros((BM, BN), gl.float32, layout=mma)
    for step in range(steps):
        ahead = step + STAGES - 1
        load_tiles(a_desc, b_desc, a_smem, b_smem, ready, ahead, steps, row, column, BK, STAGES)
        stage = step % STAGES
        mbarrier.wait(ready.index(stage), (step // STAGES) & 1)
        acc = warpgroup_mma(a_smem.index(stage), b_smem.index(stage), acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(ready.index(i))
    acc = gl.minimum(gl.maximum(acc, -limit), limit)
    c_smem = gl.allocate_shared_memory(c_desc.dtype, [BM, BN], c_desc.layout)
    c_smem.store(acc.to(c_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [row, column], c_smem)
    tma.store_wait(pendings=0)


@gluon.jit
def exact_kernel(a_ptr, b_ptr, c_ptr, M, N, K, limit, BM: gl.constexpr, BN: gl.constexpr,
                 BK: gl.constexpr):
    load: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    fma: gl.constexpr = gl.BlockedLayout([4, 4], [4, 8], [4, 1], [1, 0])
    row = gl.program_id(0) * BM
    column = gl.program_id(1) * BN
    am = row + gl.arange(0, BM, layout=gl.SliceLayout(1, load))
    ak = gl.arange(0, BK, layout=gl.SliceLayout(0, load))
    bk = gl.arange(0, BK, layout=gl.SliceLayout(1, load))
    bn = column + gl.arange(0, BN, layout=gl.SliceLayout(0, load))
    acc = gl.zeros([BM, BN], gl.float32, layout=fma)
    for k in range(0, K, BK):
        a_mask = (am < M)[:, None] & (k + ak < K)[None, :]
        b_mask = (k + bk < K)[:, None] & (bn < N)[None, :]
        a = gl.load(a_ptr + am[:, None] * K + (k + ak)[None, :], mask=a_mask, other=0.0)
        b = gl.load(b_ptr + (k + bk)[:, None] * N + bn[None, :], mask=b_mask, other=0.0)
        a = gl.convert_layout(a, gl.DotOperandLayout(0, fma, 0))
        b = gl.convert_layout(b, gl.DotOperandLayout(1, fma, 0))
        acc = gl.dot_fma(a, b, acc)
    acc = gl.minimum(gl.maximum(acc, -limit), limit)
    cm = row + gl.arange(0, BM, layout=gl.SliceLayout(1, fma))
    cn = column + gl.arange(0, BN, layout=gl.SliceLayout(0, fma))
    mask = (cm < M)[:, None] & (cn < N)[None, :]
    gl.store(c_ptr + cm[:, None] * N + cn[None, :], acc, mask=mask)


def described(t: torch.Tensor, block: list) -> TensorDescriptor:
    dtype = gl.bfloat16 if t.dtype == torch.bfloat16 else gl.float16
    layout = gl.NVMMASharedLayout.get_default_for(block, dtype)
    return TensorDescriptor.from_tensor(t, block, layout)


class ModelNew(nn.Module):
    def __init__(self, limit: float):
        super().__init__()
        self.limit = limit

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty(M, N, dtype=a.dtype, device=a.device)
        # TMA wants rows of a multiple of 16 bytes; the tensor cores round fp32 to TF32.
        if a.dtype == torch.float32 or K % 8 or N % 8:
            grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
            exact_kernel[grid](a, b, c, M, N, K, self.limit, BM=64, BN=64, BK=32, num_warps=4)
            return c
        BM, BN, BK, WARPS = 128, 128, 64, 8
        grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
        matmul_kernel[grid](
            described(a, [BM, BK]), described(b, [BK, BN]), described(c, [BM, BN]), K, self.limit,
            BM=BM, BN=BN, BK=BK, STAGES=4, WARPS=WARPS, num_warps=WARPS,
        )
        return c
