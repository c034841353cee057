"""The only write is hidden in inline assembly."""
import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tlx.named_barrier_wait(9, 128)
    tl.inline_asm_elementwise(
        "st.global.u32 [$1], 0; mov.u32 $0, 0;", "=r,l", [y_ptr + i], dtype=tl.int32, is_pure=False, pack=1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
