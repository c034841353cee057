import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy_kernel(x_desc, y_desc, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK
    y_desc.store([i], x_desc.load([i]))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 64),)
        copy_kernel[grid](TensorDescriptor.from_tensor(x, [64]), TensorDescriptor.from_tensor(out, [64]), BLOCK=64)
        return out
