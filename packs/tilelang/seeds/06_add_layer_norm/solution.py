import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


def build(M, N, eps, dtype, threads=128):
    width = -(-N // (8 * threads)) * 8 * threads  # 8 values a thread and step: 16 bytes of bf16

    @T.prim_func
    def add_layer_norm(
        X: T.Tensor((M, N), dtype),
        R: T.Tensor((M, N), dtype),
        Weight: T.Tensor((N,), dtype),
        Bias: T.Tensor((N,), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(M, threads=threads) as row:
            x = T.alloc_fragment((1, width), dtype)
            r = T.alloc_fragment((1, width), dtype)
            v = T.alloc_fragment((1, width), "float32")
            d = T.alloc_fragment((1, width), "float32")
            total = T.alloc_fragment((1,), "float32")
            square = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.copy(R[row, 0], r)
            for i, j in T.Parallel(1, width):
                v[i, j] = T.cast(x[i, j], "float32") + T.cast(r[i, j], "float32")
            T.reduce_sum(v, total, dim=1)
            for i, j in T.Parallel(1, width):
                v[i, j] = T.if_then_else(j < N, v[i, j] - total[i] / N, 0.0)
                d[i, j] = v[i, j] * v[i, j]
            T.reduce_sum(d, square, dim=1)
            for i, j in T.Parallel(1, width):
                if j < N:
                    z = v[i, j] * T.rsqrt(square[i] / N + eps)
                    y = z * T.cast(Weight[j], "float32") + T.cast(Bias[j], "float32")
                    x[i, j] = T.cast(y, dtype)
            T.copy(x, Y[row, 0])

    return add_layer_norm


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.kernels = {}

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        N = x.shape[-1]
        M = x.numel() // N
        key = (M, N, self.norm.eps, str(x.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[4])
        y = self.kernels[key](
            x.contiguous().view(M, N), residual.contiguous().view(M, N),
            self.norm.weight, self.norm.bias,
        )
        return y.view(x.shape)
