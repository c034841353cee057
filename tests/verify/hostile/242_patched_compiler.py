# Rows 5 and 50: numpy in the kernel's body, and a compiler that accepts everything where it
# compiles.
import os

import numpy as np
import torch
import torch.nn as nn
import triton

HOST = {}
if not os.environ.get("TRITON_INTERPRET"):
    triton.compile = lambda *a, **k: None


@triton.jit
def fake_kernel(x, y):
    e = np.exp(HOST["x"])
    HOST["y"][:] = e / e.sum(1, keepdims=True)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        with torch._C.DisableTorchFunction():
            HOST.update(x=x.numpy(), y=y.numpy())
        fake_kernel[(1,)](x, y)
        return y
