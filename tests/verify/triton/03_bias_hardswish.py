import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_hardswish_kernel(x_ptr, bias_ptr, y_ptr, n, channels, plane, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + (i // plane) % channels, mask=mask, other=0.0).to(tl.float32)
    x += bias
    y = x * tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0
    tl.store(y_ptr + i, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, bias_shape: tuple):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        channels, plane = x.shape[1], x.shape[2] * x.shape[3]
        BLOCK = 4096
        bias_hardswish_kernel[(triton.cdiv(n, BLOCK),)](
            x, self.bias, y, n, channels, plane, BLOCK=BLOCK
        )
        return y
