"""Elementwise relu(x + y): a builder returns a prim_func, compiled once for
each size."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T


def build_add_relu(n, dtype, block=1024, threads=256):
    @T.prim_func
    def add_relu(
        X: T.Tensor((n,), dtype),
        Y: T.Tensor((n,), dtype),
        Out: T.Tensor((n,), dtype),
    ):
        with T.Kernel(T.ceildiv(n, block), threads=threads) as bx:
            for i in T.Parallel(block):
                at = bx * block + i
                if at < n:
                    Out[at] = T.max(X[at] + Y[at], T.cast(0, dtype))

    return add_relu


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}

    def get_kernel(self, n, dtype):
        key = (n, dtype)
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build_add_relu(n, dtype), out_idx=[2])
        return self.kernels[key]

    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        name = str(x.dtype).split(".")[-1]
        kernel = self.get_kernel(x.numel(), name)
        return kernel(x.view(-1), y.view(-1)).view(x.shape)
