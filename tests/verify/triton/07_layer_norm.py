import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    mask = j < columns
    x = tl.load(x_ptr + row * columns + j, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    weight = tl.load(weight_ptr + j, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + j, mask=mask, other=0.0).to(tl.float32)
    y = centred * tl.rsqrt(variance + eps) * weight + bias
    tl.store(y_ptr + row * columns + j, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        columns = x.shape[-1]
        rows = x.numel() // columns
        y = torch.empty_like(x)
        layer_norm_kernel[(rows,)](
            x, self.norm.weight, self.norm.bias, y, columns, self.norm.eps,
            BLOCK=triton.next_power_of_2(columns),
        )
        return y
