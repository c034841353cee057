import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.nvgpu import CopyUniversalOp, MmaUniversalOp, warp
from cutlass.cute.runtime import from_dlpack

BM, BN, THREADS = 128, 128, 256  # pixels, output channels


@cute.jit
def gather(x: cute.Tensor, w: cute.Tensor, pixel, channel, first, rX: cute.Tensor,
           rW: cute.Tensor, out_size: cutlass.Constexpr, stride: cutlass.Constexpr,
           pad: cutlass.Constexpr):
    """A thread's share of a step: a stretch of the depth for one pixel and one channel."""
    _, C, H, W = x.shape
    O, _, KH, KW = w.shape
    OH, OW = out_size
    n, top, left = pixel // (OH * OW), pixel // OW % OH * stride - pad, pixel % OW * stride - pad
    for j in cutlass.range_constexpr(cute.size(rX)):
        k = first + j
        c, kh, kw = k // (KH * KW), k // KW % KH, k % KW
        rX[j] = x.element_type(0.0)
        rW[j] = w.element_type(0.0)
        if c < C:
            h, v = top + kh, left + kw
            if n < x.shape[0] and h >= 0 and h < H and v >= 0 and v < W:
                rX[j] = x[n, c, h, v]
            if channel < O:
                rW[j] = w[channel, c, kh, kw]


@cute.kernel
def conv_relu_kernel(x: cute.Tensor, w: cute.Tensor, bias: cute.Tensor, y: cute.Tensor,
                     mma: cute.TiledMma, load_x: cute.TiledCopy, load_w: cute.TiledCopy,
                     BK: cutlass.Constexpr, stride: cutlass.Constexpr, pad: cutlass.Constexpr):
    tid = cute.arch.thread_idx()[0]
    bm, bn, _ = cute.arch.block_idx()
    B, O, OH, OW = y.shape
    smem = cutlass.utils.SmemAllocator()
    width = BK + 128 // x.element_type.width
    tile = cute.make_layout((BM, BK, 2), stride=(width, 1, BM * width))
    sX = smem.allocate_tensor(x.element_type, tile, 16)
    sW = smem.allocate_tensor(x.element_type, tile, 16)
    part = mma.get_slice(tid)
    rA = mma.make_fragment_A(part.partition_A(sX)[None, None, None, 0])
    rB = mma.make_fragment_B(part.partition_B(sW)[None, None, None, 0])
    cY = part.partition_C(cute.local_tile(cute.make_identity_tensor((B * OH * OW, O)), (BM, BN),
                                          (bm, bn)))
    acc = mma.make_fragment_C(cY.shape[:3])
    acc.fill(0.0)
    from_x, from_w = load_x.get_slice(tid), load_w.get_slice(tid)
    tSx, tRx = from_x.partition_S(sX), from_x.retile(rA)
    tSw, tRw = from_w.partition_S(sW), from_w.retile(rB)

    share = BK // 2  # of the depth: two threads for each row of the tiles
    line, start = tid % BM, tid // BM * share
    pixel, channel = bm * BM + line, bn * BN + line
    rX = cute.make_rmem_tensor(share, x.element_type)
    rW = cute.make_rmem_tensor(share, x.element_type)
    gather(x, w, pixel, channel, start, rX, rW, (OH, OW), stride, pad)
    steps = cute.ceil_div(w.shape[1] * w.shape[2] * w.shape[3], BK)
    for step in cutlass.range(steps):
        stage = step % 2
        for j in cutlass.range_constexpr(share):
            sX[line, start + j, stage] = rX[j]
            sW[line, start + j, stage] = rW[j]
        cute.arch.sync_threads()
        gather(x, w, pixel, channel, (step + 1) * BK + start, rX, rW, (OH, OW), stride, pad)
        cute.copy(load_x, tSx[None, None, None, stage], tRx)
        cute.copy(load_w, tSw[None, None, None, stage], tRw)
        cute.gemm(mma, acc, rA, rB, acc)
    for i in cutlass.range_constexpr(cute.size(acc)):
        p, o = cY[i]
        if p < B * OH * OW and o < O:
            v = cute.arch.fmax(acc[i] + bias[o].to(cutlass.Float32), 0.0)
            y[p // (OH * OW), o, p // OW % OH, p % OW] = v.to(y.element_type)


@cute.jit
def conv_relu(x: cute.Tensor, w: cute.Tensor, bias: cute.Tensor, y: cute.Tensor,
              stride: cutlass.Constexpr, pad: cutlass.Constexpr):
    kind = x.element_type
    if cutlass.const_expr(kind is cutlass.Float32):
        BK = 16
        mma = cute.make_tiled_mma(MmaUniversalOp(kind), (16, 16, 1))
        take = cute.make_copy_atom(CopyUniversalOp(), kind)
    else:
        BK = 32
        op = warp.MmaF16BF16Op(kind, cutlass.Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, (4, 2, 1), permutation_mnk=(64, 32, 16))
        take = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), kind)
    B, O, OH, OW = y.shape
    conv_relu_kernel(
        x, w, bias, y, mma, cute.make_tiled_copy_A(take, mma), cute.make_tiled_copy_B(take, mma),
        BK, stride, pad,
    ).launch(
        grid=[cute.ceil_div(B * OH * OW, BM), cute.ceil_div(O, BN), 1], block=[THREADS, 1, 1]
    )


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int,
                 padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride,
                              padding=padding)
        self.compiled = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        w, bias = self.conv.weight.detach(), self.conv.bias.detach()
        stride, pad = self.conv.stride[0], self.conv.padding[0]
        OH, OW = ((s + 2 * pad - k) // stride + 1 for s, k in zip(x.shape[2:], w.shape[2:]))
        y = torch.empty((x.shape[0], w.shape[0], OH, OW), device=x.device, dtype=x.dtype)
        tensors = [from_dlpack(t, assumed_align=16) for t in (x, w, bias, y)]
        key = (x.shape, x.dtype)
        if key not in self.compiled:
            self.compiled[key] = cute.compile(conv_relu, *tensors, stride, pad)
        self.compiled[key](*tensors)
        return y
