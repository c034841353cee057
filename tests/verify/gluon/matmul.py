"""C = A B: 64 x 64 tiles; 16-bit inputs go to the tensor cores, fp32 to plain FMA."""
import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2


@gluon.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: gl.constexpr, BN: gl.constexpr,
                  BK: gl.constexpr, ACC: gl.constexpr, K_WIDTH: gl.constexpr):
    load: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    row0 = gl.program_id(0) * BM
    column0 = gl.program_id(1) * BN
    am = row0 + gl.arange(0, BM, layout=gl.SliceLayout(1, load))
    ak = gl.arange(0, BK, layout=gl.SliceLayout(0, load))
    bk = gl.arange(0, BK, layout=gl.SliceLayout(1, load))
    bn = column0 + gl.arange(0, BN, layout=gl.SliceLayout(0, load))
    acc = gl.zeros([BM, BN], gl.float32, layout=ACC)
    for k0 in range(0, K, BK):
        a_mask = (am < M)[:, None] & (k0 + ak < K)[None, :]
        b_mask = (k0 + bk < K)[:, None] & (bn < N)[None, :]
        a = gl.load(a_ptr + am[:, None] * K + (k0 + ak)[None, :], mask=a_mask, other=0.0)
        b = gl.load(b_ptr + (k0 + bk)[:, None] * N + bn[None, :], mask=b_mask, other=0.0)
        a = gl.convert_layout(a, gl.DotOperandLayout(0, ACC, K_WIDTH))
        b = gl.convert_layout(b, gl.DotOperandLayout(1, ACC, K_WIDTH))
        if K_WIDTH == 0:
            acc = gl.dot_fma(a, b, acc)
        else:
            acc = mma_v2(a, b, acc)
    cm = row0 + gl.arange(0, BM, layout=gl.SliceLayout(1, ACC))
    cn = column0 + gl.arange(0, BN, layout=gl.SliceLayout(0, ACC))
    c_mask = (cm < M)[:, None] & (cn < N)[None, :]
    c = acc.to(c_ptr.dtype.element_ty)
    gl.store(c_ptr + cm[:, None] * N + cn[None, :], c, mask=c_mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty((M, N), device=a.device, dtype=a.dtype)
        if a.dtype == torch.float32:
            layout, width = gl.BlockedLayout([4, 4], [4, 8], [4, 1], [1, 0]), 0
        else:
            layout, width = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]), 2
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
        matmul_kernel[grid](
            a, b, c, M, N, K, BM=64, BN=64, BK=32, ACC=layout, K_WIDTH=width, num_warps=4
        )
        return c
