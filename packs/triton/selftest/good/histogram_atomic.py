"""Column sums with atomics: the only writes are atomic_add."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_sum_kernel(x_ptr, out_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (m[:, None] < rows) & (n[None, :] < cols)
    x = tl.load(x_ptr + m[:, None] * cols + n[None, :], mask=mask, other=0.0)
    tl.atomic_add(out_ptr + n, tl.sum(x, axis=0), mask=n < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.zeros(x.shape[1], device=x.device, dtype=torch.float32)
        grid = (triton.cdiv(x.shape[0], 64), triton.cdiv(x.shape[1], 64))
        column_sum_kernel[grid](x, out, x.shape[0], x.shape[1], BM=64, BN=64)
        return out
