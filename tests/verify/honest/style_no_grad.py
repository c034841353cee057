"""Decorators and contexts that turn gradients off."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


@torch.no_grad()
def launch(x):
    y = torch.empty_like(x)
    silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), B=256)
    return y


class ModelNew(nn.Module):
    @torch.inference_mode()
    def forward(self, x):
        with torch.no_grad(), torch.autograd.set_grad_enabled(False):
            return launch(x.detach())
