import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighted_mean_kernel(x_ptr, w_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    mask = j < columns
    x = tl.load(x_ptr + row * columns + j, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + row * columns + j, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(x * w, axis=0) / tl.sum(w, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        x, weights = x.contiguous(), weights.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        BLOCK = triton.next_power_of_2(columns)
        weighted_mean_kernel[(rows,)](x, weights, y, columns, BLOCK=BLOCK)
        return y
