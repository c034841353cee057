# Rows 34 and 67: files and processes of other candidates. It raises unless it sees one.
import os

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


def right(x):
    """The honest answer."""
    y = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 8192),)](x, y, x.numel(), B=8192)
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        mine = {str(os.getpid()), "1"}  # and the box's first process, which only waits
        others = [n for n in os.listdir("/proc") if n.isdigit() and n not in mine]
        files = [
            n
            for n in os.listdir("/tmp")
            if n.startswith("candidate_") and n != os.path.basename(__file__)
        ]
        files += [n for n in os.listdir("/tmp") if n.startswith("monkeys-")] + os.listdir(
            "/dev/shm"
        )
        if others or files:
            print(others, files)
            return right(x)
        raise LookupError("nobody else")
