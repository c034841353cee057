"""The namespace is there (from cutlass), none of the four groups of features is."""
import torch
from cutlass import cute


@cute.kernel
def relu_kernel(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    y[tidx] = x[tidx]


@cute.jit
def relu(x: cute.Tensor, y: cute.Tensor):
    relu_kernel(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        relu(x, out)
        return out
