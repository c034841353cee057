"""Linear layer: @tilelang.jit on a builder that returns its prim_func. The
bias is added in the fp32 accumulator."""
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def linear(M, N, K, block_M=128, block_N=128, block_K=64, dtype="bfloat16", accum="float32"):
    @T.prim_func
    def main(
        X: T.Tensor((M, K), dtype),
        W: T.Tensor((N, K), dtype),
        B: T.Tensor((N,), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            X_s = T.alloc_shared((block_M, block_K), dtype)
            W_s = T.alloc_shared((block_N, block_K), dtype)
            B_s = T.alloc_shared((block_N,), dtype)
            acc = T.alloc_fragment((block_M, block_N), accum)
            T.clear(acc)
            T.copy(B[bx * block_N], B_s)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(X[by * block_M, k * block_K], X_s)
                T.copy(W[bx * block_N, k * block_K], W_s)
                T.gemm(X_s, W_s, acc, transpose_B=True)
            for i, j in T.Parallel(block_M, block_N):
                acc[i, j] += T.cast(B_s[j], accum)
            T.copy(acc, Y[by * block_M, bx * block_N])

    return main


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.kernels = {}

    def forward(self, x):
        M, K = x.shape
        N = self.linear.weight.shape[0]
        if M not in self.kernels:
            self.kernels[M] = linear(M, N, K)
        return self.kernels[M](x.contiguous(), self.linear.weight, self.linear.bias)
