"""Annotations are text; types are named everywhere."""

from __future__ import annotations

from typing import Final, Optional, TypeAlias

import torch
import torch.nn as nn
import triton
import triton.language as tl


Pair: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"


@triton.jit
def kernel(x, y, n: int, B: tl.constexpr) -> None:
    i = tl.program_id(0) * B + tl.arange(0, B)
    v: tl.tensor = tl.load(x + i, mask=i < n, other=0.0)
    WIDTH: tl.constexpr = B
    tl.static_assert(WIDTH == B)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    block: Final[int] = 256

    def launch(self, pair: Pair, n: Optional[int] = None) -> torch.Tensor:
        x, y = pair
        kernel[(2,)](x, y, n or x.numel(), B=self.block)
        return y

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.launch((x, torch.empty_like(x)))
