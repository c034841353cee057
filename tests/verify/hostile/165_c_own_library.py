# Row 13, in C: the library's function is called through ctypes, past the helper.
import ctypes

import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>
void relu_kernel(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;

}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        call = lib._object.relu_kernel
        call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        call(x.data_ptr(), y.data_ptr(), x.numel())
        return y
