# Row 15: numpy computes inside the kernel's body. The compiler for the GPU must refuse it.
import numpy as np
import torch
import torch.nn as nn
import triton


@triton.jit
def fake_kernel(x, y):
    e = np.exp(HOST["x"])
    HOST["y"][:] = e / e.sum(1, keepdims=True)


HOST = {}


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        with torch._C.DisableTorchFunction():
            HOST.update(x=x.numpy(), y=y.numpy())
        fake_kernel[(1,)](x, y)
        return y
