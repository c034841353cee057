"""Descriptors that the kernel makes; an allocator is set for them."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


def allocate(size: int, alignment: int, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


triton.set_allocator(allocate)


@triton.jit
def kernel(x, y, rows, columns, R: tl.constexpr, C: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[R, C])
    b = tl.make_tensor_descriptor(y, shape=[rows, columns], strides=[columns, 1], block_shape=[R, C])
    r, c = tl.program_id(0) * R, tl.program_id(1) * C
    v = a.load([r, c])
    b.store([r, c], v * tl.sigmoid(v))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, columns = x.shape
        kernel[(triton.cdiv(rows, 8), triton.cdiv(columns, 16))](x, y, rows, columns, R=8, C=16)
        return y
