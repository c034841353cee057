import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@T.macro
def products(q, k, s):
    T.gemm(q, k, s, transpose_B=True, clear_accum=True)


@T.macro
def weighted(p, v, o):
    T.gemm(p, v, o)


@T.macro
def exact_products(q, k, s):
    T.clear(s)
    for d in T.serial(q.shape[1]):
        for i, j in T.Parallel(s.shape[0], s.shape[1]):
            s[i, j] += q[i, d] * k[j, d]


@T.macro
def exact_weighted(p, v, o):
    for t in T.serial(p.shape[1]):
        for i, j in T.Parallel(o.shape[0], o.shape[1]):
            o[i, j] += p[i, t] * v[t, j]


def build(BH, S, D, dtype, BM=64, BN=64):
    scale = D**-0.5 * 1.4426950408889634  # exp2 is the faster exponential
    single = dtype == "float32"
    scores = exact_products if single else products
    average = exact_weighted if single else weighted

    @T.prim_func
    def causal_attention(
        Q: T.Tensor((BH, S, D), dtype),
        K: T.Tensor((BH, S, D), dtype),
        V: T.Tensor((BH, S, D), dtype),
        Y: T.Tensor((BH, S, D), dtype),
    ):
        with T.Kernel(T.ceildiv(S, BM), BH, threads=128) as (bx, head):
            q = T.alloc_shared((BM, D), dtype)
            k = T.alloc_shared((BN, D), dtype)
            v = T.alloc_shared((BN, D), dtype)
            p = T.alloc_shared((BM, BN), dtype)
            s = T.alloc_fragment((BM, BN), "float32")
            o = T.alloc_fragment((BM, D), "float32")
            peak = T.alloc_fragment((BM,), "float32")
            before = T.alloc_fragment((BM,), "float32")
            shrink = T.alloc_fragment((BM,), "float32")
            part = T.alloc_fragment((BM,), "float32")
            total = T.alloc_fragment((BM,), "float32")
            T.copy(Q[head, bx * BM : (bx + 1) * BM, :], q)
            T.clear(o)
            T.clear(total)
            T.fill(peak, -T.infinity("float32"))
            for t in T.Pipelined(T.ceildiv((bx + 1) * BM, BN), num_stages=2):
                T.copy(K[head, t * BN : (t + 1) * BN, :], k)
                scores(q, k, s)
                for i, j in T.Parallel(BM, BN):
                    s[i, j] = T.if_then_else(
                        t * BN + j <= bx * BM + i, s[i, j] * scale, -T.infinity("float32")
                    )
                T.copy(peak, before)
                T.reduce_max(s, peak, dim=1, clear=False)
                for i, j in T.Parallel(BM, BN):
                    s[i, j] = T.exp2(s[i, j] - peak[i])
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(BM):
                    shrink[i] = T.exp2(before[i] - peak[i])
                    total[i] = total[i] * shrink[i] + part[i]
                for i, j in T.Parallel(BM, D):
                    o[i, j] *= shrink[i]
                T.copy(s, p)
                T.copy(V[head, t * BN : (t + 1) * BN, :], v)
                average(p, v, o)
            for i, j in T.Parallel(BM, D):
                o[i, j] /= total[i]
            T.copy(o, Y[head, bx * BM : (bx + 1) * BM, :])

    return causal_attention


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        B, H, S, D = q.shape
        key = (B * H, S, D, str(q.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[3])
        q, k, v = (x.contiguous().view(B * H, S, D) for x in (q, k, v))
        return self.kernels[key](q, k, v).view(B, H, S, D)
