import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    j = tl.arange(0, BLOCK)
    m = -float("inf")
    s = 0.0
    for start in range(0, columns, BLOCK):
        i = start + j
        x = tl.load(x_ptr + row + i, mask=i < columns, other=-float("inf")).to(tl.float32) * factor
        m_new = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m = m_new
    for start in range(0, columns, BLOCK):
        i = start + j
        x = tl.load(x_ptr + row + i, mask=i < columns, other=0.0).to(tl.float32) * factor
        y = tl.exp(x - m) / s
        tl.store(y_ptr + row + i, y.to(y_ptr.dtype.element_ty), mask=i < columns)


class ModelNew(nn.Module):
    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        columns = x.shape[-1]
        rows = x.numel() // columns
        BLOCK = min(1024, triton.next_power_of_2(columns))
        softmax_kernel[(rows,)](x, y, columns, 1.0 / self.temperature, BLOCK=BLOCK, num_warps=4)
        return y
