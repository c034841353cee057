"""Tuned blocks that add into one number; a hook of each configuration clears it,
and the grid is made from the kernel's own arguments."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


def clear_sum(args):
    args["y_ptr"].zero_()


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 2048}, num_warps=4, pre_hook=clear_sum),
        triton.Config({"BLOCK": 8192}, num_warps=8, pre_hook=clear_sum),
    ],
    key=["n"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def mse_kernel(x_ptr, t_ptr, y_ptr, n, scale, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + i)
        t = tl.load(t_ptr + i)
    else:
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        t = tl.load(t_ptr + i, mask=i < n, other=0.0)
    d = (x - t).to(tl.float32)
    tl.atomic_add(y_ptr, tl.sum(d * d, axis=0) * scale)


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x, t = predictions.contiguous(), targets.contiguous()
        y = torch.empty((), dtype=torch.float32, device=x.device)
        mse_kernel[grid](x, t, y, x.numel(), 1.0 / x.numel())
        return y.to(x.dtype)
