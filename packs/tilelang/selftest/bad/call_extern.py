"""A device function from imported C text does the work."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T


def build(n, dtype="float32", block=512):
    @T.prim_func
    def double(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            T.import_source("__device__ void twice(float *x, float *y) { *y = 2 * *x; }")
            for i in T.Parallel(block):
                T.call_extern("handle", "twice", T.address_of(X[bx * block + i]), T.address_of(Y[bx * block + i]))

    return double


class ModelNew(nn.Module):
    def forward(self, x):
        kernel = tilelang.compile(build(x.numel()), out_idx=[1])
        return kernel(x.view(-1)).view(x.shape)
