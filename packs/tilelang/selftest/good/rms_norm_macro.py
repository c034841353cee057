"""RMS norm: a macro holds the reduction; the kernel is compiled in __init__."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T
from tilelang import PassConfigKey


@T.macro
def mean_square(x, sq, out, rows, cols):
    for i, j in T.Parallel(rows, cols):
        sq[i, j] = x[i, j] * x[i, j]
    T.reduce_sum(sq, out, dim=1)


def build(M, N, eps, block=4, dtype="float16"):
    @T.prim_func
    def rms_norm(X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block), threads=128) as bx:
            x = T.alloc_fragment((block, N), "float32")
            sq = T.alloc_fragment((block, N), "float32")
            total = T.alloc_fragment((block,), "float32")
            w = T.alloc_shared((N,), dtype)
            T.copy(W, w)
            T.copy(X[bx * block, 0], x)
            mean_square(x, sq, total, block, N)
            for i, j in T.Parallel(block, N):
                x[i, j] = x[i, j] * T.rsqrt(total[i] / N + eps) * T.cast(w[j], "float32")
            T.copy(x, Y[bx * block, 0])

    return rms_norm


class ModelNew(nn.Module):
    def __init__(self, rows, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.kernel = tilelang.compile(
            build(rows, features, eps), out_idx=-1,
            pass_configs={PassConfigKey.TL_DISABLE_TMA_LOWER: True})

    def forward(self, x):
        return self.kernel(x.contiguous(), self.weight)
