import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_cumsum_kernel(x_ptr, mask_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    inside = j < columns
    at = row * columns + j
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    chosen = tl.load(mask_ptr + at, mask=inside, other=0)
    x = tl.where(chosen != 0, x, 0.0)
    tl.store(y_ptr + at, tl.cumsum(x, axis=0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, -1).contiguous()
        mask = mask.movedim(self.dim, -1).contiguous()
        columns = x.shape[-1]
        y = torch.empty_like(x)
        BLOCK = triton.next_power_of_2(columns)
        masked_cumsum_kernel[(x.numel() // columns,)](x, mask, y, columns, BLOCK=BLOCK)
        return y.movedim(-1, self.dim)
