import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_loss_kernel(x_ptr, z_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0).to(tl.float32)
    z = tl.load(z_ptr + i, mask=mask, other=0.0).to(tl.float32)
    loss = tl.maximum(x, 0.0) - x * z + tl.log(1.0 + tl.exp(-tl.abs(x)))
    tl.store(partial_ptr + pid, tl.sum(tl.where(mask, loss, 0.0), axis=0))


@triton.jit
def mean_kernel(partial_ptr, y_ptr, count, n, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, count, BLOCK):
        i = start + j
        total += tl.load(partial_ptr + i, mask=i < count, other=0.0)
    mean = tl.sum(total, axis=0) / n
    tl.store(y_ptr, mean.to(y_ptr.dtype.element_ty))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x, z = logits.contiguous(), targets.contiguous()
        n = x.numel()
        BLOCK = 4096
        count = triton.cdiv(n, BLOCK)
        partial = torch.empty(count, dtype=torch.float32, device=x.device)
        y = torch.empty((), dtype=x.dtype, device=x.device)
        partial_loss_kernel[(count,)](x, z, partial, n, BLOCK=BLOCK)
        mean_kernel[(1,)](partial, y, count, n, BLOCK=1024)
        return y
