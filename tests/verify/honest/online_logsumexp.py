"""The row is read once, in blocks, by a while loop; an optional scale is not given."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, scale_ptr, y_ptr, columns, SCALED: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 16)
    row = tl.program_id(0)
    top = tl.full((BLOCK,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    start = 0
    while start < columns:
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + j, mask=j < columns, other=-float("inf"))
        if SCALED:
            x *= tl.load(scale_ptr)
        new = tl.maximum(top, x)
        total = total * tl.exp(top - new) + tl.exp(x - new)
        top = new
        start += BLOCK
    best = tl.max(top, axis=0)
    total = tl.sum(total * tl.exp(top - best), axis=0)
    tl.store(y_ptr + row, best + tl.log(total))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x if x.is_contiguous() else x.contiguous()
        y = torch.empty(x.size(0), dtype=x.dtype, device=x.device)
        logsumexp_kernel[(x.size(0),)](
            x, self.scale, y, x.size(1), SCALED=self.scale is not None, BLOCK=256
        )
        return y
