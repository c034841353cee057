"""Small candidates for tests, as text."""

from __future__ import annotations

import textwrap

_TRITON = """
import torch
import torch.nn as nn
import triton
import triton.language as tl


"""
RELU_KERNEL = """
@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)
"""


def triton(kernels: str, forward: str, init: str = "pass", arguments: str = "x", takes: str = "*args") -> str:
    """A file of kernels and a ModelNew of these statements."""

    def block(statements: str) -> str:
        return textwrap.indent(textwrap.dedent(statements).strip(), " " * 8)

    return f"""{_TRITON}{textwrap.dedent(kernels).strip()}


class ModelNew(nn.Module):
    def __init__(self, {takes}):
        super().__init__()
{block(init)}

    def forward(self, {arguments}):
{block(forward)}
"""


def relu(forward: str = "", init: str = "pass", kernels: str = RELU_KERNEL) -> str:
    """relu_kernel over 8 elements a program, or another forward beside it."""
    plain = """
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), B=8)
        return y
        """
    return triton(kernels, forward or plain, init)
