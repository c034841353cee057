"""Inclusive row scan in tiles: the running total is carried between tiles."""
import torch
import torch.nn as nn
import triton as tr
import triton.language as tl


@tr.jit
def combine(a, b):
    return a + b


@tr.jit
def cumsum_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    base = tl.program_id(0) * n_cols
    carry = tl.sum(tl.zeros((BLOCK,), tl.float32), axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + base + cols, mask=mask, other=0.0)
        tl.store(y_ptr + base + cols, tl.associative_scan(x, 0, combine) + carry, mask=mask)
        carry += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        moved = x.transpose(self.dim, -1).contiguous()
        out = torch.empty_like(moved)
        n = moved.shape[-1]
        cumsum_kernel[(moved.numel() // n,)](moved, out, n, BLOCK=128)
        return out.transpose(self.dim, -1).contiguous()
