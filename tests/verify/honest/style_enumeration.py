"""An enumeration chooses what a kernel does."""

import enum

import torch
import torch.nn as nn
import triton
import triton.language as tl


class Activation(enum.IntEnum):
    RELU = 0
    SILU = 1


class Part(str, enum.Enum):
    ALL = "all"


@triton.jit
def act_kernel(x, y, n, ACT: tl.constexpr, PART: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if ACT == 1:
        v = v * tl.sigmoid(v)
    else:
        v = tl.maximum(v, 0.0)
    if PART == "all":
        tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        act_kernel[(2,)](x, y, x.numel(), ACT=Activation.SILU.value, PART=Part.ALL.value, B=256)
        return y
