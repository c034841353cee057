"""Softmax over rows: a warp a row, the whole row in registers."""
import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def softmax_kernel(x_ptr, y_ptr, rows, columns, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
    r = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, layout))
    offsets = r[:, None] * columns + c[None, :]
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    x = gl.load(x_ptr + offsets, mask=mask, other=-float("inf")).to(gl.float32)
    e = gl.exp(x - gl.max(x, axis=1)[:, None])
    y = e / gl.sum(e, axis=1)[:, None]
    gl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        block = max(128, triton.next_power_of_2(columns))
        softmax_kernel[(triton.cdiv(rows, 4),)](
            x, y, rows, columns, ROWS=4, COLUMNS=block, num_warps=4
        )
        return y
