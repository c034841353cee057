"""Block pointers that are moved on."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, rows, columns, B: tl.constexpr):
    a = tl.make_block_ptr(x, (rows, columns), (columns, 1), (tl.program_id(0) * 4, 0), (4, B), (1, 0))
    b = tl.make_block_ptr(y, (rows, columns), (columns, 1), (tl.program_id(0) * 4, 0), (4, B), (1, 0))
    for _ in range(0, columns, B):
        v = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        tl.store(b, v * tl.sigmoid(v), boundary_check=(0, 1))
        a = tl.advance(a, (0, B))
        b = b.advance((0, B))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.shape[0], 4),)](x, y, x.shape[0], x.shape[1], B=16)
        return y
