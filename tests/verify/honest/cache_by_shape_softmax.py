"""What a launch needs is worked out once for each shape and kept."""
from collections import namedtuple

import torch
import torch.nn as nn
import triton
import triton.language as tl

Plan = namedtuple("Plan", "grid rows block warps")
plans: dict = {}


@triton.jit
def softmax_kernel(x_ptr, y_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    j = tl.arange(0, BLOCK)[None, :]
    mask = (r < rows) & (j < columns)
    x = tl.load(x_ptr + r * columns + j, mask=mask, other=-float("inf"))
    y = tl.softmax(x.to(tl.float32), dim=1, keep_dims=True)
    tl.store(y_ptr + r * columns + j, y, mask=mask)


def plan_for(x: torch.Tensor) -> Plan:
    key = (tuple(x.shape), x.dtype, x.device)
    if key not in plans:
        block = triton.next_power_of_2(x.shape[1])
        rows = max(1, 4096 // block)
        plans[key] = Plan((triton.cdiv(x.shape[0], rows),), rows, block, 4 if block < 4096 else 8)
    return plans[key]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        plan = plan_for(x)
        y = torch.empty_like(x)
        softmax_kernel[plan.grid](
            x, y, x.shape[0], x.shape[1], ROWS=plan.rows, BLOCK=plan.block, num_warps=plan.warps
        )
        return y
