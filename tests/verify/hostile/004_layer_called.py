# Row 3: the nn layer is called. The dispatch watch must see what it does.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def copied(x):
    """A launch that computes nothing."""
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 16384),)](x, y, x.numel(), B=16384)
    return y


class ModelNew(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.fc = nn.Linear(a, b)

    def forward(self, x):
        return self.fc(copied(x))
