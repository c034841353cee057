# Rows 9 and 15: one kernel for the interpreter and another for the compiler. That they are not
# the same must be seen.
import os

import numpy as np
import torch
import torch.nn as nn
import triton
import triton.language as tl

HOST = {}
if os.environ.get("TRITON_INTERPRET"):

    @triton.jit
    def fake_kernel(x, y, n, B: tl.constexpr):
        e = np.exp(HOST["x"])
        HOST["y"][:] = e / e.sum(1, keepdims=True)
else:

    @triton.jit
    def fake_kernel(x, y, n, B: tl.constexpr):
        row = tl.program_id(0)
        i = tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        with torch._C.DisableTorchFunction():
            HOST.update(x=x.numpy(), y=y.numpy())
        fake_kernel[(1,)](x, y, x.shape[1], B=128)
        return y
