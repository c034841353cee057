"""SiLU of a scaled and shifted input: four elements a thread, computed in fp32."""
import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def scale_silu_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, n, features, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = i < n
    f = i % features
    x = gl.load(x_ptr + i, mask=mask, other=0.0).to(gl.float32)
    weight = gl.load(weight_ptr + f, mask=mask, other=0.0).to(gl.float32)
    bias = gl.load(bias_ptr + f, mask=mask, other=0.0).to(gl.float32)
    v = x * weight + bias
    y = v / (1.0 + gl.exp(-v))
    gl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.bias = nn.Parameter(torch.rand(features) - 0.5)

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        grid = (triton.cdiv(n, 512),)
        scale_silu_kernel[grid](
            x, self.weight, self.bias, y, n, x.shape[-1], BLOCK=512, num_warps=4
        )
        return y
