"""The last program to come adds up what the others left, by a counter."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, parts, count, y, n, P: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    d = tl.load(a + i, mask=i < n, other=0.0) - tl.load(b + i, mask=i < n, other=0.0)
    tl.store(parts + pid, tl.sum(d * d, axis=0))
    tl.debug_barrier()
    if tl.atomic_add(count, 1) == tl.num_programs(0) - 1:
        p = tl.arange(0, P)
        tl.store(y, tl.sum(tl.load(parts + p, mask=p < tl.num_programs(0), other=0.0), axis=0) / n)


class ModelNew(nn.Module):
    def forward(self, prediction, target):
        n, device = prediction.numel(), prediction.device
        programs = triton.cdiv(n, 512)
        parts = torch.empty(programs, device=device)
        count = torch.zeros(1, dtype=torch.int32, device=device)
        y = torch.empty((), device=device)
        kernel[(programs,)](prediction, target, parts, count, y, n, P=8, B=512)
        return y
