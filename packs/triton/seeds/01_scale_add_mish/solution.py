import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mish(x):
    # tanh(log(1 + e)) with e = exp(x) is (e^2 + 2e) / (e^2 + 2e + 2); above 20 it is 1.
    e = tl.exp(tl.minimum(x, 20.0))
    w = e * (e + 2.0)
    return x * (w / (w + 2.0))


@triton.jit
def scale_add_mish_kernel(
    x_ptr, skip_ptr, scale_ptr, y_ptr, n, channels, plane, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    channel = (i // plane) % channels
    x = tl.load(x_ptr + i, mask=mask, other=0.0).to(tl.float32)
    skip = tl.load(skip_ptr + i, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(scale_ptr + channel, mask=mask, other=0.0).to(tl.float32)
    y = mish(x * scale + skip)
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        x, skip = x.contiguous(), skip.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        channels, plane = x.shape[1], x.shape[2] * x.shape[3]
        BLOCK = 1024
        scale_add_mish_kernel[(triton.cdiv(n, BLOCK),)](
            x, skip, self.scale, y, n, channels, plane, BLOCK=BLOCK
        )
        return y
