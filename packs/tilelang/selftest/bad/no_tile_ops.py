"""The kernel opens a grid and does nothing in it."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T


def build(n, dtype="float32", block=512):
    @T.prim_func
    def nothing(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            Y[bx] = X[bx]

    return nothing


class ModelNew(nn.Module):
    def forward(self, x):
        kernel = tilelang.compile(build(x.numel()), out_idx=[1])
        return kernel(x.view(-1)).view(x.shape)
