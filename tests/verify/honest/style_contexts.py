"""Contexts of the file's own, profiler ranges and random seeds."""

import contextlib
import random

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


@contextlib.contextmanager
def step(name):
    with torch.profiler.record_function(name):
        yield name


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        random.seed(7)
        self.names = [f"step {i}" for i in range(2)]

    def forward(self, x):
        y = torch.empty_like(x)
        with step(self.names[0]), contextlib.nullcontext():
            silu_kernel[(2,)](x, y, x.numel(), B=256)
        return y
