import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def huber_kernel(x_ptr, t_ptr, y_ptr, columns, delta, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    mask = j < columns
    x = tl.load(x_ptr + row * columns + j, mask=mask, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + row * columns + j, mask=mask, other=0.0).to(tl.float32)
    d = tl.abs(x - t)
    loss = tl.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))
    tl.store(y_ptr + row, tl.sum(loss, axis=0) / columns)


class ModelNew(nn.Module):
    def __init__(self, delta: float):
        super().__init__()
        self.delta = delta

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x, t = predictions.contiguous(), targets.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        BLOCK = triton.next_power_of_2(columns)
        huber_kernel[(rows,)](x, t, y, columns, self.delta, BLOCK=BLOCK)
        return y
