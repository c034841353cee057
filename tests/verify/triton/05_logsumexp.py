import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, y_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + j, mask=j < columns, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    tl.store(y_ptr + row, m + tl.log(tl.sum(tl.exp(x - m), axis=0)))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        BLOCK = triton.next_power_of_2(columns)
        logsumexp_kernel[(rows,)](x, y, x.stride(0), columns, BLOCK=BLOCK)
        return y
