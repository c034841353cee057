"""The kernel is a static method of the model."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    BLOCK = 256

    @staticmethod
    @triton.jit
    def kernel(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, v * tl.sigmoid(v), mask=i < n)

    def forward(self, x):
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), self.BLOCK),)
        self.kernel[grid](x, y, x.numel(), B=self.BLOCK)
        return y
