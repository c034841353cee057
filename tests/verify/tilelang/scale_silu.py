"""SiLU of an input that is scaled and shifted feature by feature, rows in tiles."""

import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


def build(M, N, dtype, block=128):
    @T.prim_func
    def scale_silu(
        X: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        B: T.Tensor((N,), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block), M, threads=128) as (bx, row):
            for i in T.Parallel(block):
                at = bx * block + i
                if at < N:
                    v = T.cast(X[row, at], "float32") * T.cast(W[at], "float32")
                    s = v + T.cast(B[at], "float32")
                    Y[row, at] = T.cast(s / (1.0 + T.exp(-s)), dtype)

    return scale_silu


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.bias = nn.Parameter(torch.rand(features) - 0.5)
        self.kernels = {}

    def forward(self, x):
        key = (*x.shape, str(x.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[3])
        return self.kernels[key](x.contiguous(), self.weight, self.bias)
