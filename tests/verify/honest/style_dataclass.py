"""A frozen dataclass says how to launch."""

from dataclasses import dataclass, field, replace

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


@dataclass(frozen=True)
class Config:
    block: int = 256
    warps: int = 4
    names: tuple[str, ...] = field(default_factory=tuple)

    def grid(self, n: int) -> tuple[int]:
        return (triton.cdiv(n, self.block),)


class ModelNew(nn.Module):
    def __init__(self, config: Config = Config()):
        super().__init__()
        self.config = replace(config, block=128)

    def forward(self, x):
        c, y = self.config, torch.empty_like(x)
        silu_kernel[c.grid(x.numel())](x, y, x.numel(), B=c.block, num_warps=c.warps)
        return y
