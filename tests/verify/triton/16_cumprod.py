import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cumprod_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    mask = j < columns
    x = tl.load(x_ptr + row * columns + j, mask=mask, other=1.0).to(tl.float32)
    tl.store(y_ptr + row * columns + j, tl.cumprod(x, axis=0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, -1).contiguous()
        columns = x.shape[-1]
        y = torch.empty_like(x)
        BLOCK = triton.next_power_of_2(columns)
        cumprod_kernel[(x.numel() // columns,)](x, y, columns, BLOCK=BLOCK)
        return y.movedim(-1, self.dim)
