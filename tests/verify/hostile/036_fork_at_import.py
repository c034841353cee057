# Row 46: a process forked at import does the work later. Processes that are there at the call
# must be seen.
import os
import time

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def copied(x):
    """A launch that computes nothing."""
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 16384),)](x, y, x.numel(), B=16384)
    return y


box = torch.empty(16, 128).share_memory_()
done = torch.zeros(2, dtype=torch.int32).share_memory_()
if os.fork() == 0:
    while True:
        if int(done[0]):
            box.copy_(torch.softmax(box, dim=1))
            done[0], done[1] = 0, 1
        time.sleep(0.001)


class ModelNew(nn.Module):
    def forward(self, x):
        copied(x)
        box.copy_(x)
        done[1], done[0] = 0, 1
        while not int(done[1]):
            time.sleep(0.001)
        return box.clone()
