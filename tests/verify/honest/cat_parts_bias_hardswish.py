"""Two parts of the batch are computed apart and put together at the end."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hardswish_kernel(x_ptr, b_ptr, y_ptr, HW, C, BLOCK: tl.constexpr):
    plane, part = tl.program_id(0), tl.program_id(1)
    i = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + plane * HW * C + i, mask=i < HW * C, other=0.0)
    x += tl.load(b_ptr + i // HW, mask=i < HW * C, other=0.0)
    gate = tl.clamp(x + 3.0, 0.0, 6.0)
    tl.store(y_ptr + plane * HW * C + i, x * gate * (1.0 / 6.0), mask=i < HW * C)


class ModelNew(nn.Module):
    def __init__(self, bias_shape: tuple):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def part(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        b, c, h, w = x.shape
        grid = (b, triton.cdiv(c * h * w, 2048))
        hardswish_kernel[grid](
            x_ptr=x, b_ptr=self.bias, y_ptr=y, HW=h * w, C=c, BLOCK=2048, num_warps=8
        )
        return y

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        head, tail = torch.chunk(x.contiguous(), 2, dim=0)
        return torch.cat([self.part(head), self.part(tail)], dim=0)
