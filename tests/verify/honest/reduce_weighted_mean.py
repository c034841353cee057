"""One reduction of two values at once, with an operator of its own."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_both(a, b, c, d):
    return a + c, b + d


@triton.jit
def weighted_mean_kernel(
    x_ptr, w_ptr, y_ptr, rows, columns, stride_x, stride_w, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    products = tl.zeros((ROWS, BLOCK), tl.float32)
    weights = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        mask = (r[:, None] < rows) & (j[None, :] < columns)
        x = tl.load(x_ptr + r[:, None] * stride_x + j[None, :], mask=mask, other=0.0)
        w = tl.load(w_ptr + r[:, None] * stride_w + j[None, :], mask=mask, other=0.0)
        products += x * w
        weights += w
    top, bottom = tl.reduce((products, weights), 1, add_both)
    tl.store(y_ptr + r, top / tl.where(r < rows, bottom, 1.0), mask=r < rows)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        rows, columns = x.shape
        y = x.new_empty(rows)
        weighted_mean_kernel[(triton.cdiv(rows, 8),)](
            x, weights, y, rows, columns, x.stride(0), weights.stride(0), ROWS=8, BLOCK=32
        )
        return y
