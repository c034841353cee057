"""relu(x) + y with 128-bit copies: a thread and value layout over 16 x 128 tiles."""
import torch
import torch.nn as nn

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def relu_add_kernel(gX: cute.Tensor, gY: cute.Tensor, gOut: cute.Tensor, cOut: cute.Tensor,
                    shape: cute.Shape, tv_layout: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    tile = ((None, None), bidx)
    thrX = cute.composition(gX[tile], tv_layout)[tidx, None]
    thrY = cute.composition(gY[tile], tv_layout)[tidx, None]
    thrOut = cute.composition(gOut[tile], tv_layout)[tidx, None]
    thrCoord = cute.composition(cOut[tile], tv_layout)[tidx, None]
    inside = cute.make_rmem_tensor(thrCoord.shape, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(inside)):
        inside[i] = cute.elem_less(thrCoord[i], shape)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gX.element_type)
    x = cute.make_fragment_like(thrX)
    y = cute.make_fragment_like(thrY)
    cute.copy(atom, thrX, x, pred=inside)
    cute.copy(atom, thrY, y, pred=inside)
    v = x.load()
    zero = cute.zeros_like(v)
    x.store(cute.where(v > zero, v, zero) + y.load())
    cute.copy(atom, x, thrOut, pred=inside)


@cute.jit
def relu_add(mX: cute.Tensor, mY: cute.Tensor, mOut: cute.Tensor):
    vector = 128 // mX.element_type.width
    threads = cute.make_layout((4, 32), stride=(32, 1))
    values = cute.make_layout((4, vector), stride=(vector, 1))
    tiler, tv_layout = cute.make_layout_tv(threads, values)
    gX = cute.zipped_divide(mX, tiler)
    gY = cute.zipped_divide(mY, tiler)
    gOut = cute.zipped_divide(mOut, tiler)
    cOut = cute.zipped_divide(cute.make_identity_tensor(mOut.shape), tiler=tiler)
    relu_add_kernel(gX, gY, gOut, cOut, mOut.shape, tv_layout).launch(
        grid=[cute.size(gOut, mode=[1]), 1, 1],
        block=[cute.size(tv_layout, mode=[0]), 1, 1],
    )


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x, y):
        out = torch.empty_like(x)
        flat = [from_dlpack(t.reshape(-1, t.shape[-1]), assumed_align=16) for t in (x, y, out)]
        key = (x.dtype, tuple(x.shape))
        if key not in self.compiled:
            self.compiled[key] = cute.compile(relu_add, *flat)
        self.compiled[key](*flat)
        return out
