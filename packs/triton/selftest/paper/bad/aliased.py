import torch
import torch.nn as nn
import triton as t
import triton.language as tl


@t.jit
def add_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        add_kernel[(x.numel() // 64,)](x, out, BLOCK=64)
        return out
