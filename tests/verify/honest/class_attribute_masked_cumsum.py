"""The kernel is written in the body of a class and reached through an attribute."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


class Kernels:
    @triton.jit
    def masked_cumsum(x_ptr, mask_ptr, y_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
        r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
        j = tl.arange(0, BLOCK)[None, :]
        inside = (r < rows) & (j < columns)
        at = r * columns + j
        keep = tl.load(mask_ptr + at, mask=inside, other=0)
        x = tl.load(x_ptr + at, mask=inside & (keep != 0), other=0.0)
        tl.store(y_ptr + at, tl.cumsum(x, axis=1), mask=inside)


class ModelNew(nn.Module):
    kernel = Kernels.masked_cumsum

    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1
        self.dim = dim

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows, columns = x.shape
        y = torch.empty_like(x)
        self.kernel[(triton.cdiv(rows, 8),)](
            x.contiguous(), mask.contiguous().view(torch.uint8), y, rows, columns,
            ROWS=8, BLOCK=triton.next_power_of_2(columns),
        )
        return y
