# Row 1: torch computes inside the kernel's body, which the interpreter runs as Python. The
# profiler or the compiler must refuse it.
import torch
import torch.nn as nn
import triton


@triton.jit
def fake_kernel(x, y):
    HOST["y"].copy_(torch.softmax(HOST["x"], dim=1))


HOST = {}


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        HOST.update(x=x, y=y)
        fake_kernel[(1,)](x, y)
        return y
