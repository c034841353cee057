"""Base classes, properties, extra_repr, __call__ and class methods."""

import abc

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class Base(nn.Module, abc.ABC):
    block = 64

    @property
    def launch_block(self):
        return self.block * 4

    @abc.abstractmethod
    def kernel(self): ...

    @classmethod
    def grid(cls, n, block):
        return (triton.cdiv(n, block),)

    def extra_repr(self):
        return f"block={self.block}"

    def forward(self, x):
        y = torch.empty_like(x)
        self.kernel()[self.grid(x.numel(), self.launch_block)](x, y, x.numel(), B=self.launch_block)
        return y


class ModelNew(Base):
    def kernel(self):
        return silu_kernel
