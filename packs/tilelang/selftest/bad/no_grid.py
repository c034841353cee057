"""No grid is opened: a serial prim_func for the host."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T


def build(n, dtype="float32"):
    @T.prim_func
    def double(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        for i in T.serial(n):
            Y[i] = X[i] * 2

    return double


class ModelNew(nn.Module):
    def forward(self, x):
        kernel = tilelang.compile(build(x.numel()), out_idx=[1])
        return kernel(x.view(-1)).view(x.shape)
