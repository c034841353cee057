"""The shape is passed to the kernel as a tuple, the grid is made by a generator, the
block size is kept by functools."""
import functools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@functools.lru_cache(maxsize=None)
def block_of(columns: int) -> int:
    return min(triton.next_power_of_2(columns), 1024)


@triton.jit
def huber(d, delta):
    a = tl.abs(d)
    q = tl.minimum(a, delta)
    return q * (a - 0.5 * q)


@triton.jit
def huber_kernel(x_ptr, t_ptr, y_ptr, shape, delta, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, shape[1], BLOCK, num_stages=2):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * shape[1] + j, mask=j < shape[1], other=0.0)
        t = tl.load(t_ptr + row * shape[1] + j, mask=j < shape[1], other=0.0)
        total += huber(x - t, delta)
    tl.store(y_ptr + row, tl.sum(total, axis=0) / shape[1])


class ModelNew(nn.Module):
    def __init__(self, delta: float):
        super().__init__()
        self.register_buffer("unused", None)
        self.delta = delta

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x, t = (a.contiguous() for a in (predictions, targets))
        y = torch.empty(x.shape[:1], dtype=x.dtype, device=x.device)
        grid = tuple(n for n in x.shape[:1])
        huber_kernel[grid](x, t, y, tuple(x.shape), self.delta, BLOCK=block_of(x.shape[1]))
        return y
