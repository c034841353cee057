import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@T.macro
def tensor_cores(a, b, acc):
    T.gemm(a, b, acc)


@T.macro
def exact(a, b, acc):
    for k in T.serial(a.shape[1]):
        for i, j in T.Parallel(acc.shape[0], acc.shape[1]):
            acc[i, j] += a[i, k] * b[k, j]


def build(M, N, K, alpha, dtype):
    single = dtype == "float32"
    BM, BN, BK, stages = (64, 64, 32, 2) if single else (128, 128, 64, 3)
    multiply = exact if single else tensor_cores

    @T.prim_func
    def matmul_add(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            a = T.alloc_shared((BM, BK), dtype)
            b = T.alloc_shared((BK, BN), dtype)
            c = T.alloc_shared((BM, BN), dtype)
            acc = T.alloc_fragment((BM, BN), "float32")
            T.use_swizzle(panel_size=8)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                T.copy(A[by * BM, k * BK], a)
                T.copy(B[k * BK, bx * BN], b)
                multiply(a, b, acc)
            T.copy(C[by * BM, bx * BN], c)
            for i, j in T.Parallel(BM, BN):
                acc[i, j] = acc[i, j] * alpha + T.cast(c[i, j], "float32")
            T.copy(acc, Y[by * BM, bx * BN])

    return matmul_add


class ModelNew(nn.Module):
    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha
        self.kernels = {}

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        M, K = a.shape
        key = (M, b.shape[1], K, self.alpha, str(a.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[3])
        return self.kernels[key](a.contiguous(), b.contiguous(), c.contiguous())
