import tilelang
import tilelang.language as T
import torch
import torch.nn as nn

# Threads write operands of T.gemm themselves; no warps of their own for loading.
PLAIN = {tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True}

CHUNK = 64  # steps of a chunk


def build(B, L, H, D, dtype):
    C = CHUNK
    NC = L // C  # chunks of a head
    E = 32  # value columns of a block of the second kernel
    BH = B * H
    scale = float(D) ** -0.5

    @T.prim_func
    def gated_delta_rule(
        Q: T.Tensor((B, L, H, D), dtype),
        K: T.Tensor((B, L, H, D), dtype),
        V: T.Tensor((B, L, H, D), dtype),
        Beta: T.Tensor((B, L, H), dtype),
        Gt: T.Tensor((B, L, H), dtype),
        MQ: T.Tensor((BH, NC * 4, D, D), dtype),
        NO: T.Tensor((BH, NC * 2, D, D), "float32"),
        Out: T.Tensor((B, L, H, D), dtype),
    ):
        # 1. Each chunk as a linear map of the state before it:
        #    out = Qe S + O0,  S' = M S + N.
        with T.Kernel(NC, H, B, threads=128) as (c1, h1, b1):
            q1 = T.alloc_shared((C, D), dtype)
            k1 = T.alloc_shared((C, D), dtype)
            kb1 = T.alloc_shared((C, D), dtype)
            v1 = T.alloc_shared((C, D), dtype)
            a_hi = T.alloc_shared((C, C), dtype)
            a_lo = T.alloc_shared((C, C), dtype)
            b_hi = T.alloc_shared((C, D), dtype)
            b_lo = T.alloc_shared((C, D), dtype)
            Ls = T.alloc_shared((64, 72), "float32")
            Xs = T.alloc_shared((64, 72), "float32")
            y16s = T.alloc_shared((32, 16), "float32")
            y32s = T.alloc_shared((32, 32), "float32")
            gc = T.alloc_shared((1, C), "float32")
            bet = T.alloc_shared((C,), "float32")
            eg = T.alloc_shared((C,), "float32")
            ed = T.alloc_shared((C,), "float32")
            s = T.alloc_fragment((64, 64), "float32")
            u = T.alloc_fragment((64, 64), "float32")
            w = T.alloc_fragment((64, 64), "float32")
            hi = T.alloc_fragment((64, 64), dtype)
            lo = T.alloc_fragment((64, 64), dtype)
            x = T.alloc_fragment((64, 16), "float32")
            y16 = T.alloc_fragment((32, 16), "float32")
            z16 = T.alloc_fragment((32, 16), "float32")
            y32 = T.alloc_fragment((32, 32), "float32")
            z32 = T.alloc_fragment((32, 32), "float32")

            for i, j in T.Parallel(64, 64):
                Xs[i, j] = 0.0

            T.copy(K[b1, c1 * C : c1 * C + C, h1, :], k1)
            T.copy(Q[b1, c1 * C : c1 * C + C, h1, :], q1)
            T.copy(V[b1, c1 * C : c1 * C + C, h1, :], v1)

            # Decays, summed up within the chunk.
            for i in T.Parallel(C):
                gc[0, i] = T.cast(Gt[b1, c1 * C + i, h1], "float32")
                bet[i] = T.cast(Beta[b1, c1 * C + i, h1], "float32")
            T.cumsum(gc, dim=1)
            for i in T.Parallel(C):
                eg[i] = T.exp(gc[0, i])
                ed[i] = T.exp(gc[0, 63] - gc[0, i])

            # Strictly lower matrix of the chunk.
            for i, j in T.Parallel(64, 64):
                kb1[i, j] = k1[i, j]
            T.gemm(kb1, k1, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                Ls[i, j] = T.if_then_else(
                    j < i, bet[i] * s[i, j] * T.exp(gc[0, i] - gc[0, j]), 0.0
                )

            # X = (I + Ls)^-1: the four diagonal blocks of 16 by forward substitution.
            for i, c in T.Parallel(64, 16):
                x[i, c] = T.if_then_else(i % 16 == c, 1.0, 0.0)
            for m in T.serial(16):
                # Row m of each block is final here; later rows are overwritten later.
                for i, c in T.Parallel(64, 16):
                    Xs[i, (i // 16) * 16 + c] = x[i, c]
                for i, c in T.Parallel(64, 16):
                    x[i, c] = (
                        x[i, c]
                        - Ls[i, (i // 16) * 16 + m] * Xs[(i // 16) * 16 + m, (i // 16) * 16 + c]
                    )

            # Blocks of 16 are merged to blocks of 32: X21 = -X22 (L21 X11).
            T.clear(y16)
            for m in T.serial(16):
                for i, c in T.Parallel(32, 16):
                    y16[i, c] = (
                        y16[i, c]
                        + Ls[(i // 16) * 32 + 16 + i % 16, (i // 16) * 32 + m]
                        * Xs[(i // 16) * 32 + m, (i // 16) * 32 + c]
                    )
            for i, c in T.Parallel(32, 16):
                y16s[i, c] = y16[i, c]
            T.clear(z16)
            for m in T.serial(16):
                for i, c in T.Parallel(32, 16):
                    z16[i, c] = (
                        z16[i, c]
                        - Xs[(i // 16) * 32 + 16 + i % 16, (i // 16) * 32 + 16 + m]
                        * y16s[(i // 16) * 16 + m, c]
                    )
            for i, c in T.Parallel(32, 16):
                Xs[(i // 16) * 32 + 16 + i % 16, (i // 16) * 32 + c] = z16[i, c]

            # Blocks of 32 are merged to the whole matrix.
            T.clear(y32)
            for m in T.serial(32):
                for i, c in T.Parallel(32, 32):
                    y32[i, c] = y32[i, c] + Ls[32 + i, m] * Xs[m, c]
            for i, c in T.Parallel(32, 32):
                y32s[i, c] = y32[i, c]
            T.clear(z32)
            for m in T.serial(32):
                for i, c in T.Parallel(32, 32):
                    z32[i, c] = z32[i, c] - Xs[32 + i, 32 + m] * y32s[m, c]
            for i, c in T.Parallel(32, 32):
                Xs[32 + i, c] = z32[i, c]

            # U0 = (X diag(beta)) V
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(Xs[i, j] * bet[j], dtype)
                lo[i, j] = T.cast(Xs[i, j] * bet[j] - T.cast(hi[i, j], "float32"), dtype)
            T.copy(hi, a_hi)
            T.copy(lo, a_lo)
            T.gemm(a_hi, v1, u, clear_accum=True)
            T.gemm(a_lo, v1, u)

            # W = (X diag(beta exp(G))) K
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(Xs[i, j] * bet[j] * eg[j], dtype)
                lo[i, j] = T.cast(
                    Xs[i, j] * bet[j] * eg[j] - T.cast(hi[i, j], "float32"), dtype
                )
            T.copy(hi, a_hi)
            T.copy(lo, a_lo)
            T.gemm(a_hi, k1, w, clear_accum=True)
            T.gemm(a_lo, k1, w)

            # P: masked and decayed scores.
            T.gemm(q1, k1, s, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                s[i, j] = T.if_then_else(
                    j <= i, scale * s[i, j] * T.exp(gc[0, i] - gc[0, j]), 0.0
                )
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(s[i, j], dtype)
                lo[i, j] = T.cast(s[i, j] - T.cast(hi[i, j], "float32"), dtype)
            T.copy(hi, a_hi)
            T.copy(lo, a_lo)

            # O0 = P U0
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(u[i, j], dtype)
                lo[i, j] = T.cast(u[i, j] - T.cast(hi[i, j], "float32"), dtype)
            T.copy(hi, b_hi)
            T.copy(lo, b_lo)
            T.gemm(a_hi, b_hi, s, clear_accum=True)
            T.gemm(a_lo, b_hi, s)
            T.gemm(a_hi, b_lo, s)
            T.copy(s, NO[b1 * H + h1, c1 * 2 + 1, :, :])

            # Qe = scale exp(G) q - P W
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(w[i, j], dtype)
                lo[i, j] = T.cast(w[i, j] - T.cast(hi[i, j], "float32"), dtype)
            T.copy(hi, b_hi)
            T.copy(lo, b_lo)
            T.gemm(a_hi, b_hi, s, clear_accum=True)
            T.gemm(a_lo, b_hi, s)
            T.gemm(a_hi, b_lo, s)
            for i, j in T.Parallel(64, 64):
                s[i, j] = scale * eg[i] * T.cast(q1[i, j], "float32") - s[i, j]
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(s[i, j], dtype)
                lo[i, j] = T.cast(s[i, j] - T.cast(hi[i, j], "float32"), dtype)
            T.copy(hi, a_hi)
            T.copy(lo, a_lo)
            T.copy(a_hi, MQ[b1 * H + h1, c1 * 4 + 2, :, :])
            T.copy(a_lo, MQ[b1 * H + h1, c1 * 4 + 3, :, :])

            # N = K^T diag(ed) U0
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(ed[i] * u[i, j], dtype)
                lo[i, j] = T.cast(ed[i] * u[i, j] - T.cast(hi[i, j], "float32"), dtype)
            T.copy(hi, b_hi)
            T.copy(lo, b_lo)
            T.gemm(k1, b_hi, s, transpose_A=True, clear_accum=True)
            T.gemm(k1, b_lo, s, transpose_A=True)
            T.copy(s, NO[b1 * H + h1, c1 * 2, :, :])

            # M = exp(G_63) I - K^T diag(ed) W
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(ed[i] * w[i, j], dtype)
                lo[i, j] = T.cast(ed[i] * w[i, j] - T.cast(hi[i, j], "float32"), dtype)
            T.copy(hi, b_hi)
            T.copy(lo, b_lo)
            T.gemm(k1, b_hi, s, transpose_A=True, clear_accum=True)
            T.gemm(k1, b_lo, s, transpose_A=True)
            for i, j in T.Parallel(64, 64):
                s[i, j] = T.if_then_else(i == j, eg[63], 0.0) - s[i, j]
            for i, j in T.Parallel(64, 64):
                hi[i, j] = T.cast(s[i, j], dtype)
                lo[i, j] = T.cast(s[i, j] - T.cast(hi[i, j], "float32"), dtype)
            T.copy(hi, a_hi)
            T.copy(lo, a_lo)
            T.copy(a_hi, MQ[b1 * H + h1, c1 * 4, :, :])
            T.copy(a_lo, MQ[b1 * H + h1, c1 * 4 + 1, :, :])

        # 2. The walk over the chunks; a block owns E value columns of one head.
        with T.Kernel(D // E, H, B, threads=128) as (e2, h2, b2):
            mh = T.alloc_shared((D, D), dtype)
            ml = T.alloc_shared((D, D), dtype)
            qh = T.alloc_shared((C, D), dtype)
            ql = T.alloc_shared((C, D), dtype)
            sh = T.alloc_shared((D, E), dtype)
            sl = T.alloc_shared((D, E), dtype)
            st = T.alloc_fragment((D, E), "float32")
            am = T.alloc_fragment((D, E), "float32")
            ao = T.alloc_fragment((C, E), "float32")
            nf = T.alloc_fragment((D, E), "float32")
            off2 = T.alloc_fragment((C, E), "float32")
            hi2 = T.alloc_fragment((D, E), dtype)
            lo2 = T.alloc_fragment((D, E), dtype)

            T.clear(st)
            for c2 in T.Pipelined(NC, num_stages=3):
                T.copy(MQ[b2 * H + h2, c2 * 4, :, :], mh)
                T.copy(MQ[b2 * H + h2, c2 * 4 + 1, :, :], ml)
                T.copy(MQ[b2 * H + h2, c2 * 4 + 2, :, :], qh)
                T.copy(MQ[b2 * H + h2, c2 * 4 + 3, :, :], ql)

                # Issued early, used after the products.
                for i, j in T.Parallel(D, E):
                    nf[i, j] = NO[b2 * H + h2, c2 * 2, i, e2 * E + j]
                for i, j in T.Parallel(C, E):
                    off2[i, j] = NO[b2 * H + h2, c2 * 2 + 1, i, e2 * E + j]

                # The state before this chunk, as the sum of two narrow numbers.
                for i, j in T.Parallel(D, E):
                    hi2[i, j] = T.cast(st[i, j], dtype)
                    lo2[i, j] = T.cast(st[i, j] - T.cast(hi2[i, j], "float32"), dtype)
                T.copy(hi2, sh)
                T.copy(lo2, sl)

                T.gemm(qh, sh, ao, clear_accum=True)
                T.gemm(ql, sh, ao)
                T.gemm(qh, sl, ao)
                T.gemm(mh, sh, am, clear_accum=True)
                T.gemm(ml, sh, am)
                T.gemm(mh, sl, am)

                for i, j in T.Parallel(C, E):
                    Out[b2, c2 * C + i, h2, e2 * E + j] = T.cast(ao[i, j] + off2[i, j], dtype)
                for i, j in T.Parallel(D, E):
                    st[i, j] = am[i, j] + nf[i, j]

    return gated_delta_rule


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor, g: torch.Tensor
    ) -> torch.Tensor:
        B, L, H, D = q.shape
        key = (B, L, H, D, str(q.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[7], pass_configs=PLAIN)
        chunks = L // CHUNK
        mq = torch.empty((B * H, chunks * 4, D, D), dtype=q.dtype, device=q.device)
        no = torch.empty((B * H, chunks * 2, D, D), dtype=torch.float32, device=q.device)
        return self.kernels[key](
            q.contiguous(),
            k.contiguous(),
            v.contiguous(),
            beta.contiguous(),
            g.contiguous(),
            mq,
            no,
        )
