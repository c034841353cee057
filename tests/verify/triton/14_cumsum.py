import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    """A row, block after block; the sum so far is carried on."""
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    carry = 0.0
    for start in range(0, columns, BLOCK):
        at = row * columns + start + j
        mask = start + j < columns
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, carry + tl.cumsum(x, axis=0), mask=mask)
        carry += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, -1).contiguous()
        columns = x.shape[-1]
        y = torch.empty_like(x)
        cumsum_kernel[(x.numel() // columns,)](x, y, columns, BLOCK=512)
        return y.movedim(-1, self.dim)
