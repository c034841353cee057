"""The model remembers a device, a dtype and a stream."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.options = {"dtype": torch.float32, "device": self.device}

    def forward(self, x):
        x = x.to(self.device, non_blocking=True).contiguous()
        y = torch.empty(*x.shape, **self.options)
        with torch.cuda.stream(torch.cuda.current_stream()):
            silu_kernel[(2,)](x, y, x.numel(), B=256)
        return y.to(x.dtype)
