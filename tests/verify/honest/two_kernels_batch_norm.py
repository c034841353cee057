"""A kernel for the statistics and one that applies them, with a temporary between;
the second reads what the first wrote. Partial sums are merged by Chan's formula."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def merge(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    n = n_a + n_b
    d = mean_b - mean_a
    share = tl.where(n > 0, n_b / tl.maximum(n, 1.0), 0.0)
    return n, mean_a + d * share, m2_a + m2_b + d * d * n_a * share


@triton.jit
def statistics_kernel(
    x_ptr, temp_ptr, mean_ptr, var_ptr, count_ptr, N, C, HW, eps, momentum,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    c = tl.program_id(0)
    b = tl.arange(0, ROWS)[:, None]
    j = tl.arange(0, BLOCK)[None, :]
    mask = (b < N) & (j < HW)
    x = tl.load(x_ptr + (b * C + c) * HW + j, mask=mask, other=0.0).to(tl.float32)
    n = tl.sum(mask.to(tl.float32), axis=1)
    mean = tl.sum(x, axis=1) / tl.maximum(n, 1.0)
    d = tl.where(mask, x - mean[:, None], 0.0)
    n, mean, m2 = tl.reduce((n, mean, tl.sum(d * d, axis=1)), 0, merge)
    tl.store(temp_ptr + c, mean)
    tl.store(temp_ptr + C + c, tl.rsqrt(m2 / n + eps))
    old_mean, old_var = tl.load(mean_ptr + c), tl.load(var_ptr + c)
    tl.store(mean_ptr + c, (1.0 - momentum) * old_mean + momentum * mean)
    tl.store(var_ptr + c, (1.0 - momentum) * old_var + momentum * m2 / (n - 1.0))
    tl.store(count_ptr, tl.load(count_ptr) + 1, mask=c == 0)


@triton.jit
def apply_kernel(x_ptr, temp_ptr, w_ptr, b_ptr, y_ptr, n, C, HW, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    c = (i // HW) % C
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    x = (x - tl.load(temp_ptr + c, mask=mask)) * tl.load(temp_ptr + C + c, mask=mask)
    y = x * tl.load(w_ptr + c, mask=mask) + tl.load(b_ptr + c, mask=mask)
    tl.store(y_ptr + i, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, bn = x.contiguous(), self.norm
        N, C, H, W = x.shape
        y, temp = torch.empty_like(x), torch.empty(2, C, dtype=torch.float32, device=x.device)
        statistics_kernel[(C,)](
            x, temp, bn.running_mean, bn.running_var, bn.num_batches_tracked,
            N, C, H * W, bn.eps, bn.momentum,
            ROWS=triton.next_power_of_2(N), BLOCK=triton.next_power_of_2(H * W),
        )
        n = x.numel()
        apply_kernel[(triton.cdiv(n, 4096),)](
            x, temp, bn.weight, bn.bias, y, n, C, H * W, BLOCK=4096
        )
        return y
