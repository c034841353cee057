"""Tile-wise scale and shift through tensor descriptors made on the host."""
import torch
from torch import nn
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def scale_kernel(x_desc, y_desc, scale, shift, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    x = x_desc.load([m, n])
    y_desc.store([m, n], x * scale + shift)


class ModelNew(nn.Module):
    def __init__(self, scale, shift):
        super().__init__()
        self.scale, self.shift = scale, shift

    def forward(self, x):
        y = torch.empty_like(x)
        block = [32, 64]
        x_desc = TensorDescriptor.from_tensor(x, block)
        y_desc = TensorDescriptor.from_tensor(y, block)
        grid = (triton.cdiv(x.shape[0], block[0]), triton.cdiv(x.shape[1], block[1]))
        scale_kernel[grid](x_desc, y_desc, self.scale, self.shift, BM=block[0], BN=block[1])
        return y
