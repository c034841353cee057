"""Partial sums live in a workspace that is kept from call to call; a counter tells
the last program, which adds them up and clears the counter for the next call."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mse_kernel(x_ptr, t_ptr, sums_ptr, done_ptr, y_ptr, n, BLOCK: tl.constexpr, P: tl.constexpr):
    pid = tl.program_id(0)
    total = 0.0
    for start in range(pid * BLOCK, n, P * BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        t = tl.load(t_ptr + i, mask=i < n, other=0.0)
        total += tl.sum((x - t) * (x - t), axis=0)
    tl.store(sums_ptr + pid, total)
    if tl.atomic_add(done_ptr, 1) == P - 1:
        tl.store(y_ptr, tl.sum(tl.load(sums_ptr + tl.arange(0, P), volatile=True), axis=0) / n)
        tl.atomic_xchg(done_ptr, 0)


class ModelNew(nn.Module):
    PROGRAMS = 8

    def __init__(self):
        super().__init__()
        self.workspace = None

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if self.workspace is None:
            self.workspace = (
                torch.empty(self.PROGRAMS, dtype=torch.float32, device=predictions.device),
                torch.zeros(1, dtype=torch.int32, device=predictions.device),
            )
        sums, done = self.workspace
        y = predictions.new_empty(())
        mse_kernel[(self.PROGRAMS,)](
            predictions, targets, sums, done, y, predictions.numel(), BLOCK=1024, P=self.PROGRAMS
        )
        return y
