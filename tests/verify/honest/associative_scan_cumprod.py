"""A scan with an operator of its own: pairs of a product and a length."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def combine(p_a, n_a, p_b, n_b):
    return p_a * p_b, n_a + n_b


@triton.jit
def cumprod_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    at = tl.program_id(0) * columns + j
    x = tl.load(x_ptr + at, mask=j < columns, other=1.0)
    product, length = tl.associative_scan((x, (j < columns).to(tl.int32)), 0, combine)
    tl.store(y_ptr + at, tl.where(length > 0, product, 1.0), mask=j < columns)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.transpose(self.dim, -1).contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        cumprod_kernel[(rows,)](x, y, columns, BLOCK=triton.next_power_of_2(columns))
        return y.transpose(self.dim, -1)
