"""Another compiler is asked for by a string."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T


def build(n, dtype="float32", block=512):
    @T.prim_func
    def double(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = X[bx * block + i] * 2

    return double


class ModelNew(nn.Module):
    def forward(self, x):
        kernel = tilelang.compile(build(x.numel()), out_idx=[1], execution_backend="cutedsl", target="cutedsl")
        return kernel(x.view(-1)).view(x.shape)
