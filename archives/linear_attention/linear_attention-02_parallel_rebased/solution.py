import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


def build(BH, S, D, dtype):
    BM = 128  # queries of a block
    BN = 128  # keys of a step; equal to BM, so only the last tile of keys is on the diagonal
    tiles = (S + BM - 1) // BM
    # The reference's weights are y * y / D; numerator and denominator are both multiplied by D.
    eps = 1e-6 * D

    @T.prim_func
    def rebased_attention(
        Q: T.Tensor((BH, S, D), dtype),
        K: T.Tensor((BH, S, D), dtype),
        V: T.Tensor((BH, S, D), dtype),
        Out: T.Tensor((BH, S, D), dtype),
    ):
        with T.Kernel(BH, tiles, threads=256) as (head, by):
            q_s = T.alloc_shared((BM, D), dtype)
            k_s = T.alloc_shared((BN, D), dtype)
            v_s = T.alloc_shared((BN, D), dtype)
            o_s = T.alloc_shared((BM, D), dtype)
            s = T.alloc_fragment((BM, BN), "float32")
            p = T.alloc_fragment((BM, BN), dtype)
            o = T.alloc_fragment((BM, D), "float32")
            part = T.alloc_fragment((BM,), "float32")
            total = T.alloc_fragment((BM,), "float32")

            # The longest blocks start first.
            tile = tiles - 1 - by

            T.copy(Q[head, tile * BM : (tile + 1) * BM, :], q_s)
            T.clear(o)
            T.clear(total)
            for kt in T.Pipelined(tile + 1, num_stages=2):
                T.copy(K[head, kt * BN : (kt + 1) * BN, :], k_s)
                T.gemm(
                    q_s,
                    k_s,
                    s,
                    transpose_B=True,
                    policy=T.GemmWarpPolicy.FullRow,
                    clear_accum=True,
                )
                # kt never exceeds tile: this is the diagonal tile only.
                if kt >= tile:
                    for i, j in T.Parallel(BM, BN):
                        s[i, j] = T.if_then_else(j <= i, s[i, j], 0.0)
                for i, j in T.Parallel(BM, BN):
                    s[i, j] = s[i, j] * s[i, j]
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(BM):
                    total[i] += part[i]
                T.copy(s, p)
                T.copy(V[head, kt * BN : (kt + 1) * BN, :], v_s)
                T.gemm(p, v_s, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(BM, D):
                o[i, j] = o[i, j] / (total[i] + eps)
            T.copy(o, o_s)
            T.copy(o_s, Out[head, tile * BM : (tile + 1) * BM, :])

    return rebased_attention


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        B, H, S, D = q.shape
        key = (B * H, S, D, str(q.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[3])
        q3 = q.contiguous().view(B * H, S, D)
        k3 = k.contiguous().view(B * H, S, D)
        v3 = v.contiguous().view(B * H, S, D)
        return self.kernels[key](q3, k3, v3).view(B, H, S, D)
