import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def add(a, b):
    return a + b


@gluon.jit
def reverse_cumsum_kernel(x_ptr, y_ptr, rows, columns, ROWS: gl.constexpr, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [1, 32], [4, 1], [1, 0])
    r = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, BLOCK, layout=gl.SliceLayout(0, layout))
    row = r.to(gl.int64)[:, None] * columns
    carry = gl.zeros([ROWS], gl.float32, layout=gl.SliceLayout(1, layout))
    tiles = gl.cdiv(columns, BLOCK)
    for t in range(tiles):
        j = (tiles - 1 - t) * BLOCK + c
        mask = (r < rows)[:, None] & (j < columns)[None, :]
        x = gl.load(x_ptr + row + j[None, :], mask=mask, other=0.0).to(gl.float32)
        y = gl.associative_scan(x, 1, add, reverse=True) + carry[:, None]
        gl.store(y_ptr + row + j[None, :], y.to(y_ptr.dtype.element_ty), mask=mask)
        carry += gl.sum(x, axis=1)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        last = x.dim() - 1
        x = x.transpose(self.dim, last).contiguous()
        y = torch.empty_like(x)
        columns = x.shape[-1]
        rows = x.numel() // columns
        reverse_cumsum_kernel[(triton.cdiv(rows, 4),)](
            x, y, rows, columns, ROWS=4, BLOCK=1024, num_warps=4
        )
        return y.transpose(self.dim, last).contiguous()
