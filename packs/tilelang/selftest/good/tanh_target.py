"""A target written as a literal is accepted with a warning. Never set it to
cutedsl."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T


def build(n, dtype="float32", block=512):
    @T.prim_func
    def tanh(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            x = T.alloc_fragment((block,), dtype)
            T.copy(X[bx * block], x)
            for i in T.Parallel(block):
                x[i] = T.tanh(x[i])
            T.copy(x, Y[bx * block])

    return tanh


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}

    def forward(self, x):
        n = x.numel()
        if n not in self.kernels:
            self.kernels[n] = tilelang.compile(build(n), out_idx=[1], target="cuda")  # not "cutedsl"
        return self.kernels[n](x.contiguous().view(-1)).view(x.shape)
