"""As many programs as there are processors; each takes several blocks."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    blocks = tl.cdiv(n, B)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        i = block * B + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.programs = torch.cuda.get_device_properties("cuda").multi_processor_count

    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(min(self.programs, 3),)](x, y, x.numel(), B=32)
        return y
