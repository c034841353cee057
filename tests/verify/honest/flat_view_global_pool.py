"""The output is one flat piece of memory, seen as a matrix; each half is written by a
launch of its own, through a slice."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, y_ptr, count, size, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros((ROWS,), tl.float32)
    for start in range(0, size, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(
            x_ptr + r[:, None] * size + j[None, :],
            mask=(r[:, None] < count) & (j[None, :] < size), other=0.0,
        )
        acc += tl.sum(x, axis=1)
    tl.store(y_ptr + r, acc / size, mask=r < count)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        planes = x.reshape(b * c, h * w)
        out = torch.empty(b * c, dtype=x.dtype, device=x.device)
        half = (b * c + 1) // 2
        for part, target in zip(planes.split(half), out.split(half)):
            count = part.shape[0]
            mean_kernel[(triton.cdiv(count, 32),)](part, target, count, h * w, ROWS=32, BLOCK=128)
        return out.view(b, c)
