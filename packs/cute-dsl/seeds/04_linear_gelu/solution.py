import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.nvgpu import CopyUniversalOp, MmaUniversalOp, cpasync, warp
from cutlass.cute.runtime import from_dlpack

BM, BN, THREADS, STAGES = 128, 128, 256, 3


@cute.jit
def fetch(copy: cute.TiledCopy, source: cute.Tensor, coordinates: cute.Tensor,
          target: cute.Tensor, shape: cute.Shape):
    """A tile into shared memory; what lies outside the matrix becomes zero."""
    rows, columns = cute.size(coordinates, mode=[1]), cute.size(coordinates, mode=[2])
    pred = cute.make_rmem_tensor((1, rows, columns), cutlass.Boolean)
    for i in cutlass.range_constexpr(rows):
        for j in cutlass.range_constexpr(columns):
            pred[0, i, j] = cute.elem_less(coordinates[0, i, j], shape)
    cute.copy(copy, source, target, pred=pred)


@cute.kernel
def linear_gelu_kernel(mX: cute.Tensor, mW: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor,
                       mma: cute.TiledMma, copy: cute.TiledCopy, load_x: cute.TiledCopy,
                       load_w: cute.TiledCopy, BK: cutlass.Constexpr):
    tid = cute.arch.thread_idx()[0]
    bn, bm, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    kind, width = mX.element_type, BK + 128 // mX.element_type.width
    tile = cute.make_layout((BM, BK, STAGES), stride=(width, 1, BM * width))
    sX, sW = smem.allocate_tensor(kind, tile, 16), smem.allocate_tensor(kind, tile, 16)
    gX, gW = cute.local_tile(mX, (BM, BK), (bm, None)), cute.local_tile(mW, (BN, BK), (bn, None))
    cX = cute.local_tile(cute.make_identity_tensor(mX.shape), (BM, BK), (bm, None))
    cW = cute.local_tile(cute.make_identity_tensor(mW.shape), (BN, BK), (bn, None))
    fill = copy.get_slice(tid)
    tXg, tXc, tXs = fill.partition_S(gX), fill.partition_S(cX), fill.partition_D(sX)
    tWg, tWc, tWs = fill.partition_S(gW), fill.partition_S(cW), fill.partition_D(sW)

    part = mma.get_slice(tid)
    rX = mma.make_fragment_A(part.partition_A(sX)[None, None, None, 0])
    rW = mma.make_fragment_B(part.partition_B(sW)[None, None, None, 0])
    cY = part.partition_C(cute.local_tile(cute.make_identity_tensor(mY.shape), (BM, BN), (bm, bn)))
    acc = mma.make_fragment_C(cY.shape[:3])
    acc.fill(0.0)
    from_x, from_w = load_x.get_slice(tid), load_w.get_slice(tid)
    tSx, tRx = from_x.partition_S(sX), from_x.retile(rX)
    tSw, tRw = from_w.partition_S(sW), from_w.retile(rW)

    steps = cute.size(gX, mode=[2])
    for s in cutlass.range_constexpr(STAGES - 1):
        at = (None, None, None, s)
        fetch(copy, tXg[at], tXc[at], tXs[at], mX.shape)
        fetch(copy, tWg[at], tWc[at], tWs[at], mW.shape)
        cute.arch.cp_async_commit_group()
    for step in cutlass.range(steps):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        later = step + STAGES - 1
        if later < steps:
            at, to = (None, None, None, later), (None, None, None, later % STAGES)
            fetch(copy, tXg[at], tXc[at], tXs[to], mX.shape)
            fetch(copy, tWg[at], tWc[at], tWs[to], mW.shape)
        cute.arch.cp_async_commit_group()
        cute.copy(load_x, tSx[None, None, None, step % STAGES], tRx)
        cute.copy(load_w, tSw[None, None, None, step % STAGES], tRw)
        cute.gemm(mma, acc, rX, rW, acc)
    for i in cutlass.range_constexpr(cute.size(acc)):
        if cute.elem_less(cY[i], mY.shape):
            v = acc[i] + mB[cY[i][1]].to(cutlass.Float32)
            v = 0.5 * v * (1.0 + cute.math.erf(v * 0.7071067811865476))
            mY[cY[i]] = v.to(mY.element_type)


@cute.jit
def linear_gelu(mX: cute.Tensor, mW: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor):
    kind = mX.element_type
    vector = 128 // kind.width
    if cutlass.const_expr(kind is cutlass.Float32):
        BK = 16
        mma = cute.make_tiled_mma(MmaUniversalOp(kind), (16, 16, 1))
        take = cute.make_copy_atom(CopyUniversalOp(), kind)
    else:
        BK = 32
        op = warp.MmaF16BF16Op(kind, cutlass.Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, (4, 2, 1), permutation_mnk=(64, 32, 16))
        take = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), kind)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), kind, num_bits_per_copy=128)
    across = BK // vector
    copy = cute.make_tiled_copy_tv(
        atom, cute.make_layout((THREADS // across, across), stride=(across, 1)),
        cute.make_layout((1, vector)),
    )
    m, n = mY.shape
    linear_gelu_kernel(
        mX, mW, mB, mY, mma, copy, cute.make_tiled_copy_A(take, mma),
        cute.make_tiled_copy_B(take, mma), BK,
    ).launch(grid=[cute.ceil_div(n, BN), cute.ceil_div(m, BM), 1], block=[THREADS, 1, 1])


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.compiled = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        weight, bias = self.linear.weight.detach(), self.linear.bias.detach()
        y = torch.empty((x.shape[0], weight.shape[0]), device=x.device, dtype=x.dtype)
        tensors = [from_dlpack(t, assumed_align=16) for t in (x, weight, bias, y)]
        key = (x.shape, x.dtype)
        if key not in self.compiled:
            self.compiled[key] = cute.compile(linear_gelu, *tensors)
        self.compiled[key](*tensors)
        return y
