"""Descriptors that the host makes."""

import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def kernel(x, y, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.program_id(0) * R, tl.program_id(1) * C
    v = x.load([r, c])
    y.store([r, c], v * tl.sigmoid(v))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        a = TensorDescriptor.from_tensor(x, [8, 16])
        b = TensorDescriptor(y, list(y.shape), list(y.stride()), [8, 16])
        kernel[(triton.cdiv(x.shape[0], 8), triton.cdiv(x.shape[1], 16))](a, b, R=8, C=16)
        return y
