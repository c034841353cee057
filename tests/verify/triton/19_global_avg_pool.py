import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def plane_mean_kernel(x_ptr, y_ptr, planes, size, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.arange(0, BLOCK)
    mask = (r[:, None] < planes) & (j[None, :] < size)
    x = tl.load(x_ptr + r[:, None] * size + j[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + r, tl.sum(x, axis=1) / size, mask=r < planes)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        y = torch.empty((batch, channels), dtype=x.dtype, device=x.device)
        planes, size, ROWS = batch * channels, height * width, 16
        BLOCK = triton.next_power_of_2(size)
        plane_mean_kernel[(triton.cdiv(planes, ROWS),)](x, y, planes, size, ROWS=ROWS, BLOCK=BLOCK)
        return y
