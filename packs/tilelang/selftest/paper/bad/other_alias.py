import torch
import torch.nn as nn
import tilelang
import tilelang.language as L


def build(n, dtype="float32", block=512):
    @L.prim_func
    def double(X: L.Tensor((n,), dtype), Y: L.Tensor((n,), dtype)):
        with L.Kernel(L.ceildiv(n, block), threads=128) as bx:
            for i in L.Parallel(block):
                Y[bx * block + i] = X[bx * block + i] * 2

    return double


class ModelNew(nn.Module):
    def forward(self, x):
        kernel = tilelang.compile(build(x.numel()), out_idx=[1])
        return kernel(x.view(-1)).view(x.shape)
