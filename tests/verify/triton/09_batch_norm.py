import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def batch_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, var_ptr, count_ptr,
    batch, channels, plane, momentum, eps, BLOCK: tl.constexpr,
):
    """One program normalises one channel, which lies in `batch` planes, and moves
    its running statistics; the first program also counts the batch."""
    c = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    n = batch * plane
    mask = i < n
    at = (i // plane) * channels * plane + c * plane + i % plane
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    squares = tl.sum(centred * centred, axis=0)
    weight = tl.load(weight_ptr + c).to(tl.float32)
    bias = tl.load(bias_ptr + c).to(tl.float32)
    y = centred * tl.rsqrt(squares / n + eps) * weight + bias
    tl.store(y_ptr + at, y, mask=mask)
    old_mean = tl.load(mean_ptr + c).to(tl.float32)
    old_var = tl.load(var_ptr + c).to(tl.float32)
    tl.store(mean_ptr + c, old_mean + momentum * (mean - old_mean))
    tl.store(var_ptr + c, old_var + momentum * (squares / (n - 1) - old_var))
    if c == 0:
        tl.store(count_ptr, tl.load(count_ptr) + 1)


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        y = torch.empty_like(x)
        norm = self.norm
        batch_norm_kernel[(channels,)](
            x, norm.weight, norm.bias, y,
            norm.running_mean, norm.running_var, norm.num_batches_tracked,
            batch, channels, height * width, norm.momentum, norm.eps,
            BLOCK=triton.next_power_of_2(batch * height * width),
        )
        return y
