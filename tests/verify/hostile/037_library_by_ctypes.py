# Rows 13 and 14: a function of a compiled library, called through ctypes, computes beside a
# decorative kernel.
import ctypes

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


def right(x):
    """The honest answer."""
    y = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 8192),)](x, y, x.numel(), B=8192)
    return y


LIBM = ctypes.CDLL("libm.so.6")
LIBM.fmaxf.restype = ctypes.c_float
LIBM.fmaxf.argtypes = [ctypes.c_float, ctypes.c_float]


class ModelNew(nn.Module):
    def forward(self, x):
        right(x)
        y = torch.empty_like(x)
        kind = ctypes.c_float * x.numel()
        source, target = kind.from_address(x.data_ptr()), kind.from_address(y.data_ptr())
        for i in range(x.numel()):
            target[i] = LIBM.fmaxf(source[i], 0.0)
        return y
