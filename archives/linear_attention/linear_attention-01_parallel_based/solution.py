import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


def build(NH, S, D, dtype, BM=128, BN=128):
    # BM == BN: only the last tile of keys of a block lies on the diagonal.
    scale = float(D) ** -0.5
    half = 0.5 * scale * scale
    tiles = (S + BM - 1) // BM

    @T.prim_func
    def based_attention(
        Q: T.Tensor((NH, S, D), dtype),
        K: T.Tensor((NH, S, D), dtype),
        V: T.Tensor((NH, S, D), dtype),
        Y: T.Tensor((NH, S, D), dtype),
    ):
        with T.Kernel(NH, tiles, threads=256) as (head, slot):
            q_shared = T.alloc_shared((BM, D), dtype)
            k_shared = T.alloc_shared((BN, D), dtype)
            v_shared = T.alloc_shared((BN, D), dtype)
            y_shared = T.alloc_shared((BM, D), dtype)
            s = T.alloc_fragment((BM, BN), "float32")
            p = T.alloc_fragment((BM, BN), dtype)
            o = T.alloc_fragment((BM, D), "float32")
            part = T.alloc_fragment((BM,), "float32")
            den = T.alloc_fragment((BM,), "float32")

            # The longest loops start first.
            qt = tiles - 1 - slot

            T.copy(Q[head, qt * BM : (qt + 1) * BM, :], q_shared)
            T.clear(o)
            T.clear(den)
            for kt in T.Pipelined(qt + 1, num_stages=2):
                T.copy(K[head, kt * BN : (kt + 1) * BN, :], k_shared)
                T.gemm(
                    q_shared,
                    k_shared,
                    s,
                    transpose_B=True,
                    policy=T.GemmWarpPolicy.FullRow,
                    clear_accum=True,
                )
                # 1 + x + x * x / 2 with x = s * scale
                for i, j in T.Parallel(BM, BN):
                    s[i, j] = 1.0 + s[i, j] * (scale + s[i, j] * half)
                # The mask comes after the polynomial; only the diagonal tile needs it.
                for i, j in T.Parallel(BM, BN):
                    if kt == qt:
                        s[i, j] = T.if_then_else(j <= i, s[i, j], 0.0)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(BM):
                    den[i] += part[i]
                T.copy(s, p)
                T.copy(V[head, kt * BN : (kt + 1) * BN, :], v_shared)
                T.gemm(p, v_shared, o, policy=T.GemmWarpPolicy.FullRow)

            for i in T.Parallel(BM):
                den[i] = 1.0 / (den[i] + 1e-6)
            for i, j in T.Parallel(BM, D):
                o[i, j] = o[i, j] * den[i]
            T.copy(o, y_shared)
            T.copy(y_shared, Y[head, qt * BM : (qt + 1) * BM, :])

    return based_attention


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
