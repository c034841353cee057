"""The only write is hidden in inline assembly."""
import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def write_kernel(y_ptr, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.inline_asm_elementwise(
        "st.global.u32 [$1], 0; mov.u32 $0, 0;", "=r,l", [y_ptr + i], dtype=gl.int32, is_pure=False, pack=1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        write_kernel[(triton.cdiv(x.numel(), 256),)](y, x.numel(), BLOCK=256)
        return y
