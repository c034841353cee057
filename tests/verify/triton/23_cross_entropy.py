import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_loss_kernel(
    x_ptr, target_ptr, loss_ptr, rows, classes, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.arange(0, BLOCK)
    mask = (r[:, None] < rows) & (j[None, :] < classes)
    x = tl.load(x_ptr + r[:, None] * classes + j[None, :], mask=mask, other=-1.0e30).to(tl.float32)
    top = tl.max(x, axis=1)
    log_sum = top + tl.log(tl.sum(tl.exp(x - top[:, None]), axis=1))
    target = tl.load(target_ptr + r, mask=r < rows, other=0)
    chosen = tl.load(x_ptr + r * classes + target, mask=r < rows, other=0.0).to(tl.float32)
    tl.store(loss_ptr + r, log_sum - chosen, mask=r < rows)


@triton.jit
def mean_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), axis=0) / n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits, targets = logits.contiguous(), targets.contiguous()
        rows, classes = logits.shape
        losses = torch.empty(rows, dtype=torch.float32, device=logits.device)
        y = torch.empty((), dtype=logits.dtype, device=logits.device)
        ROWS = 8
        row_loss_kernel[(triton.cdiv(rows, ROWS),)](
            logits, targets, losses, rows, classes,
            ROWS=ROWS, BLOCK=triton.next_power_of_2(classes),
        )
        mean_kernel[(1,)](losses, y, rows, BLOCK=triton.next_power_of_2(rows))
        return y
