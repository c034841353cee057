"""Works on the transpose, made contiguous: one program scans many columns, a block of
rows at a time, and the result is handed back as a transposed view."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cumsum_columns_kernel(x_ptr, y_ptr, length, width, BL: tl.constexpr, BW: tl.constexpr):
    w = tl.program_id(0) * BW + tl.arange(0, BW)
    carry = tl.zeros((1, BW), tl.float32)
    for start in range(0, length, BL):
        i = start + tl.arange(0, BL)
        at = i[:, None] * width + w[None, :]
        mask = (i[:, None] < length) & (w[None, :] < width)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, tl.cumsum(x, axis=0) + carry, mask=mask)
        carry += tl.sum(x, axis=0, keep_dims=True)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        columns = x.transpose(0, self.dim).contiguous()
        y = torch.empty_like(columns)
        length, width = columns.shape
        cumsum_columns_kernel[(triton.cdiv(width, 16),)](
            columns, y, length, width, BL=256, BW=16
        )
        return y.transpose(0, self.dim)
