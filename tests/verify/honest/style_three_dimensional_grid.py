"""A grid of three dimensions, and strides of zero by expand."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, y, s0, s1, s2, t0, t1, t2, B: tl.constexpr):
    i, j, k = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    v = tl.load(a + i * s0 + j * s1 + k * s2) + tl.load(b + i * t0 + j * t1 + k * t2)
    at = (i * tl.num_programs(1) + j) * tl.num_programs(2) + k
    tl.store(y + at, v)


class ModelNew(nn.Module):
    def forward(self, a, b):
        shape = (*a.shape, b.shape[0])
        a, b = a.unsqueeze(-1).expand(shape), b.expand(shape)
        y = torch.empty(shape, device=a.device)
        kernel[shape](a, b, y, *a.stride(), *b.stride(), B=1)
        return y
