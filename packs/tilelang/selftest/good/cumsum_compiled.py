"""Inclusive row scan with T.cumsum; the eager function is compiled for one
shape and kept. T.call_extern and T.import_source are not used."""
import torch
import torch.nn as nn
import tilelang as tl
from tilelang import language as T


@tl.jit
def row_cumsum(X, dtype):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(M, threads=256) as row:
        line = T.alloc_shared((1, N), dtype)
        T.copy(X[row, 0], line)
        T.cumsum(line, dim=1)
        T.copy(line, Y[row, 0])
    return Y


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}

    def forward(self, x):
        M, N = x.shape
        if (M, N) not in self.kernels:
            self.kernels[M, N] = row_cumsum.compile(M=M, N=N, dtype=T.float32)
        return self.kernels[M, N](x.contiguous())
