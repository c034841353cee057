"""A genuine kernel that the literal rules refuse: `import cutlass`, plain indexing, no tensor or layout made."""
import torch

import cutlass
import cutlass.cute as cute


@cute.kernel
def relu_kernel(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 256 + tidx
    if i < cute.size(x):
        y[i] = cute.arch.fmax(x[i], cutlass.Float32(0.0))


@cute.jit
def relu(x: cute.Tensor, y: cute.Tensor):
    relu_kernel(x, y).launch(grid=[cute.ceil_div(cute.size(x), 256), 1, 1], block=[256, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        relu(x.flatten(), out.flatten())
        return out
