"""The block and the number of warps follow from the arguments."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK": lambda args: triton.next_power_of_2(args["columns"]),
        "num_warps": lambda args: 8 if args["columns"] > 2048 else 4,
    }
)
@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    mask = j < columns
    x = tl.load(x_ptr + row * columns + j, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / columns
    d = tl.where(mask, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(d * d, 0) / columns + eps)
    w = tl.load(w_ptr + j, mask=mask)
    b = tl.load(b_ptr + j, mask=mask)
    tl.store(y_ptr + row * columns + j, d * rstd * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = x.shape
        rows = x.reshape(-1, shape[-1])
        y = torch.empty_like(rows)
        layer_norm_kernel[(rows.shape[0],)](
            rows, self.norm.weight, self.norm.bias, y, rows.shape[1], self.norm.eps
        )
        return y.view(shape)
