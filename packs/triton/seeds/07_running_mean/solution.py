import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def running_mean_kernel(
    x_ptr, y_ptr, length, inner, BLOCK_L: tl.constexpr, BLOCK_I: tl.constexpr
):
    # The tensor is (outer, length, inner); a program walks down one strip of columns.
    outer = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK_I + tl.arange(0, BLOCK_I)
    base = outer * length * inner + col[None, :]
    carry = tl.zeros((BLOCK_I,), dtype=tl.float32)
    for start in range(0, length, BLOCK_L):
        t = start + tl.arange(0, BLOCK_L)
        mask = (t[:, None] < length) & (col[None, :] < inner)
        at = base + t[:, None].to(tl.int64) * inner
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        total = tl.cumsum(x, axis=0) + carry[None, :]
        y = total / (t[:, None] + 1).to(tl.float32)
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)
        carry += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        dim = self.dim % x.dim()
        outer, inner = 1, 1
        for size in x.shape[:dim]:
            outer *= size
        for size in x.shape[dim + 1 :]:
            inner *= size
        length = x.shape[dim]
        BLOCK_I = min(32, triton.next_power_of_2(inner))
        BLOCK_L = min(4096 // BLOCK_I, triton.next_power_of_2(length))
        running_mean_kernel[(outer, triton.cdiv(inner, BLOCK_I))](
            x, y, length, inner, BLOCK_L=BLOCK_L, BLOCK_I=BLOCK_I
        )
        return y
