import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


def build(NH, S, DK, DV, dtype):
    BM = 128  # queries of a block
    BN = 128  # keys of a step; equal to BM, so only the last tile of keys is on the diagonal
    tiles = (S + BM - 1) // BM
    c1 = float(DK) ** -0.5
    c2 = 0.5 * c1 * c1

    @T.prim_func
    def based_attention(
        Q: T.Tensor((NH, S, DK), dtype),
        K: T.Tensor((NH, S, DK), dtype),
        V: T.Tensor((NH, S, DV), dtype),
        Y: T.Tensor((NH, S, DV), dtype),
    ):
        with T.Kernel(NH, tiles, threads=256) as (head, slot):
            q_s = T.alloc_shared((BM, DK), dtype)
            k_s = T.alloc_shared((BN, DK), dtype)
            v_s = T.alloc_shared((BN, DV), dtype)
            y_s = T.alloc_shared((BM, DV), dtype)
            s = T.alloc_fragment((BM, BN), "float32")
            p = T.alloc_fragment((BM, BN), dtype)
            o = T.alloc_fragment((BM, DV), "float32")
            part = T.alloc_fragment((BM,), "float32")
            den = T.alloc_fragment((BM,), "float32")

            # The longest loops start first.
            qt = tiles - 1 - slot

            T.copy(Q[head, qt * BM : (qt + 1) * BM, :], q_s)
            T.clear(o)
            T.clear(den)
            for kt in T.Pipelined(qt + 1, num_stages=3):
                T.copy(K[head, kt * BN : (kt + 1) * BN, :], k_s)
                T.gemm(
                    q_s,
                    k_s,
                    s,
                    transpose_B=True,
                    policy=T.GemmWarpPolicy.FullRow,
                    clear_accum=True,
                )
                # 1 + x + x * x / 2 with x = s * c1
                for i, j in T.Parallel(BM, BN):
                    s[i, j] = 1.0 + s[i, j] * (c1 + s[i, j] * c2)
                # The mask comes after the polynomial. kt never exceeds qt: the diagonal tile only.
                if kt >= qt:
                    for i, j in T.Parallel(BM, BN):
                        s[i, j] = T.if_then_else(j <= i, s[i, j], 0.0)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(BM):
                    den[i] += part[i]
                T.copy(s, p)
                T.copy(V[head, kt * BN : (kt + 1) * BN, :], v_s)
                T.gemm(p, v_s, o, policy=T.GemmWarpPolicy.FullRow)

            for i in T.Parallel(BM):
                den[i] = 1.0 / (den[i] + 1e-6)
            for i, j in T.Parallel(BM, DV):
                o[i, j] = o[i, j] * den[i]
            T.copy(o, y_s)
            T.copy(y_s, Y[head, qt * BM : (qt + 1) * BM, :])

    return based_attention


class ModelNew(nn.Module):
    def __init__(self, chunk: int):
        super().__init__()
        # The result does not depend on the chunk.
        self.chunk = chunk
        self.kernels = {}

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        B, H, S, DK = q.shape
        DV = v.shape[-1]
        key = (B * H, S, DK, DV, str(q.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[3])
        q3 = q.contiguous().view(B * H, S, DK)
        k3 = k.contiguous().view(B * H, S, DK)
        v3 = v.contiguous().view(B * H, S, DV)
        return self.kernels[key](q3, k3, v3).view(B, H, S, DV)
