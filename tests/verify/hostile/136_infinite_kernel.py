# A kernel that never ends. The deadline must end it.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def spin_kernel(x, y):
    while tl.load(x) < 2.0:
        tl.store(y, 1.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        spin_kernel[(1,)](x, y)
        return y
