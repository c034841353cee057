import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.nvgpu import CopyUniversalOp, MmaUniversalOp, cpasync, warp
from cutlass.cute.runtime import from_dlpack

BM, BN, THREADS = 128, 128, 256


@cute.jit
def inside(coordinates: cute.Tensor, shape: cute.Shape) -> cute.Tensor:
    """Which vectors of a thread's copy lie in the matrix."""
    rows, columns = cute.size(coordinates, mode=[1]), cute.size(coordinates, mode=[2])
    pred = cute.make_rmem_tensor((1, rows, columns), cutlass.Boolean)
    for i in cutlass.range_constexpr(rows):
        for j in cutlass.range_constexpr(columns):
            pred[0, i, j] = cute.elem_less(coordinates[0, i, j], shape)
    return pred


@cute.kernel
def matmul_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mma: cute.TiledMma,
                  copy_a: cute.TiledCopy, copy_b: cute.TiledCopy, load_a: cute.TiledCopy,
                  load_b: cute.TiledCopy, BK: cutlass.Constexpr):
    tid = cute.arch.thread_idx()[0]
    bn, bm, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    pad = 128 // mA.element_type.width
    sA = smem.allocate_tensor(
        mA.element_type, cute.make_layout((BM, BK, 2), stride=(BK + pad, 1, BM * (BK + pad))), 16
    )
    sB = smem.allocate_tensor(
        mB.element_type, cute.make_layout((BN, BK, 2), stride=(1, BN + pad, BK * (BN + pad))), 16
    )
    gA = cute.local_tile(mA, (BM, BK), (bm, None))
    gB = cute.local_tile(mB, (BN, BK), (bn, None))
    cA = cute.local_tile(cute.make_identity_tensor(mA.shape), (BM, BK), (bm, None))
    cB = cute.local_tile(cute.make_identity_tensor(mB.shape), (BN, BK), (bn, None))
    fill_a, fill_b = copy_a.get_slice(tid), copy_b.get_slice(tid)
    tAg, tAs, tAc = fill_a.partition_S(gA), fill_a.partition_D(sA), fill_a.partition_S(cA)
    tBg, tBs, tBc = fill_b.partition_S(gB), fill_b.partition_D(sB), fill_b.partition_S(cB)

    part = mma.get_slice(tid)
    rA = mma.make_fragment_A(part.partition_A(sA)[None, None, None, 0])
    rB = mma.make_fragment_B(part.partition_B(sB)[None, None, None, 0])
    cC = part.partition_C(cute.local_tile(cute.make_identity_tensor(mC.shape), (BM, BN), (bm, bn)))
    acc = mma.make_fragment_C(cC.shape[:3])
    acc.fill(0.0)
    from_a, from_b = load_a.get_slice(tid), load_b.get_slice(tid)
    tSa, tRa = from_a.partition_S(sA), from_a.retile(rA)
    tSb, tRb = from_b.partition_S(sB), from_b.retile(rB)

    steps = cute.size(gA, mode=[2])
    now = (None, None, None, 0)
    cute.copy(copy_a, tAg[now], tAs[now], pred=inside(tAc[now], mA.shape))
    cute.copy(copy_b, tBg[now], tBs[now], pred=inside(tBc[now], mB.shape))
    cute.arch.cp_async_commit_group()
    for step in cutlass.range(steps):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        stage = step % 2
        if step + 1 < steps:
            later, there = (None, None, None, step + 1), (None, None, None, 1 - stage)
            cute.copy(copy_a, tAg[later], tAs[there], pred=inside(tAc[later], mA.shape))
            cute.copy(copy_b, tBg[later], tBs[there], pred=inside(tBc[later], mB.shape))
        cute.arch.cp_async_commit_group()
        cute.copy(load_a, tSa[None, None, None, stage], tRa)
        cute.copy(load_b, tSb[None, None, None, stage], tRb)
        cute.gemm(mma, acc, rA, rB, acc)
    for i in cutlass.range_constexpr(cute.size(acc)):
        if cute.elem_less(cC[i], mC.shape):
            mC[cC[i]] = acc[i].to(mC.element_type)


@cute.jit
def matmul(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    kind = mA.element_type
    vector = 128 // kind.width
    if cutlass.const_expr(kind is cutlass.Float32):
        BK = 16
        mma = cute.make_tiled_mma(MmaUniversalOp(kind), (16, 16, 1))
        take_a = take_b = cute.make_copy_atom(CopyUniversalOp(), kind)
    else:
        BK = 32
        op = warp.MmaF16BF16Op(kind, cutlass.Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, (4, 2, 1), permutation_mnk=(64, 32, 16))
        take_a = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), kind)
        take_b = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), kind)
    fetch = cute.make_copy_atom(cpasync.CopyG2SOp(), kind, num_bits_per_copy=128)
    across, down = BK // vector, BN // vector
    copy_a = cute.make_tiled_copy_tv(
        fetch, cute.make_layout((THREADS // across, across), stride=(across, 1)),
        cute.make_layout((1, vector)),
    )
    copy_b = cute.make_tiled_copy_tv(
        fetch, cute.make_layout((down, THREADS // down)), cute.make_layout((vector, 1))
    )
    m, n = mC.shape
    matmul_kernel(
        mA, mB, mC, mma, copy_a, copy_b, cute.make_tiled_copy_A(take_a, mma),
        cute.make_tiled_copy_B(take_b, mma), BK,
    ).launch(grid=[cute.ceil_div(n, BN), cute.ceil_div(m, BM), 1], block=[THREADS, 1, 1])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.contiguous(), b.contiguous()
        y = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
        tensors = [from_dlpack(t, assumed_align=16) for t in (a, b.t(), y)]
        key = (a.shape, b.shape, a.dtype)
        if key not in self.compiled:
            self.compiled[key] = cute.compile(matmul, *tensors)
        self.compiled[key](*tensors)
        return y
