import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2


@gluon.jit
def conv2d_kernel(x_ptr, w_ptr, bias_ptr, scale_ptr, y_ptr, C, H, W, OC, OH, OW,
                  KH: gl.constexpr, KW: gl.constexpr, STRIDE: gl.constexpr, PAD: gl.constexpr,
                  BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, ACC: gl.constexpr,
                  K_WIDTH: gl.constexpr):
    load: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    gather: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    P = OH * OW
    K = C * KH * KW
    x_ptr += gl.program_id(2).to(gl.int64) * C * H * W
    y_ptr += gl.program_id(2).to(gl.int64) * OC * P
    wm = gl.program_id(1) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, load))
    wk = gl.arange(0, BK, layout=gl.SliceLayout(0, load))
    xk = gl.arange(0, BK, layout=gl.SliceLayout(1, gather))
    p = gl.program_id(0) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, gather))
    top = p // OW * STRIDE - PAD
    left = p % OW * STRIDE - PAD
    acc = gl.zeros([BM, BN], gl.float32, layout=ACC)
    for k0 in range(0, K, BK):
        w_mask = (wm < OC)[:, None] & (k0 + wk < K)[None, :]
        w = gl.load(w_ptr + wm[:, None] * K + (k0 + wk)[None, :], mask=w_mask, other=0.0)
        k = k0 + xk
        ih = top[None, :] + (k // KW % KH)[:, None]
        iw = left[None, :] + (k % KW)[:, None]
        x_mask = (k < K)[:, None] & (p < P)[None, :]
        x_mask = x_mask & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
        x = gl.load(x_ptr + ((k // (KH * KW))[:, None] * H + ih) * W + iw, mask=x_mask, other=0.0)
        w = gl.convert_layout(w, gl.DotOperandLayout(0, ACC, K_WIDTH))
        x = gl.convert_layout(x, gl.DotOperandLayout(1, ACC, K_WIDTH))
        if K_WIDTH == 0:
            acc = gl.dot_fma(w, x, acc)
        else:
            acc = mma_v2(w, x, acc)
    oc = gl.program_id(1) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, ACC))
    q = gl.program_id(0) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, ACC))
    bias = gl.load(bias_ptr + oc, mask=oc < OC, other=0.0).to(gl.float32)
    scale = gl.load(scale_ptr + oc, mask=oc < OC, other=0.0).to(gl.float32)
    y = (acc + bias[:, None]) * scale[:, None]
    mask = (oc < OC)[:, None] & (q < P)[None, :]
    gl.store(y_ptr + oc[:, None] * P + q[None, :], y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
    ):
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding
        )
        self.scale = nn.Parameter(torch.rand(out_channels, 1, 1) + 0.5)
        self.stride, self.padding = stride, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        N, C, H, W = x.shape
        OC, _, KH, KW = self.conv.weight.shape
        OH = (H + 2 * self.padding - KH) // self.stride + 1
        OW = (W + 2 * self.padding - KW) // self.stride + 1
        y = torch.empty(N, OC, OH, OW, dtype=x.dtype, device=x.device)
        if x.dtype == torch.float32:
            layout, width = gl.BlockedLayout([4, 4], [4, 8], [4, 1], [1, 0]), 0
        else:
            layout, width = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]), 2
        grid = (triton.cdiv(OH * OW, 64), triton.cdiv(OC, 64), N)
        conv2d_kernel[grid](
            x, self.conv.weight, self.conv.bias, self.scale, y, C, H, W, OC, OH, OW,
            KH=KH, KW=KW, STRIDE=self.stride, PAD=self.padding, BM=64, BN=64, BK=32,
            ACC=layout, K_WIDTH=width, num_warps=4,
        )
        return y
