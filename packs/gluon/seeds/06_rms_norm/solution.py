import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, rows, columns, eps, ROWS: gl.constexpr,
                    BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [1, 32], [4, 1], [1, 0])
    r = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, BLOCK, layout=gl.SliceLayout(0, layout))
    at = r.to(gl.int64)[:, None] * columns + c[None, :]
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    x = gl.load(x_ptr + at, mask=mask, other=0.0).to(gl.float32)
    w = gl.load(w_ptr + c, mask=c < columns, other=0.0).to(gl.float32)
    scale = gl.rsqrt(gl.sum(x * x, axis=1) / columns + eps)
    y = x * scale[:, None] * w[None, :]
    gl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(features) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        columns = x.shape[-1]
        rows = x.numel() // columns
        BLOCK = max(256, triton.next_power_of_2(columns))
        rms_norm_kernel[(triton.cdiv(rows, 4),)](
            x, self.weight, y, rows, columns, self.eps, ROWS=4, BLOCK=BLOCK, num_warps=4
        )
        return y
