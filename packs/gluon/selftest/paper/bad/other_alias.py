import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as lang


@gluon.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: lang.constexpr):
    layout: lang.constexpr = lang.BlockedLayout([1], [32], [4], [0])
    i = lang.program_id(0) * BLOCK + lang.arange(0, BLOCK, layout=layout)
    lang.store(y_ptr + i, lang.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
