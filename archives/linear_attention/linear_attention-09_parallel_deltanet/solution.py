import tilelang
import tilelang.language as T
import torch
import torch.nn as nn

# All threads copy and multiply; no warps of their own for loading.
PLAIN = {tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True}

TILE = 64  # steps in a chunk; equal to the width of a head
CHUNKS = 8  # chunks in a segment


def build(NH, S, D, dtype):
    BT = TILE
    NC = CHUNKS
    G = S // (BT * NC)
    scale = float(D) ** -0.5

    @T.prim_func
    def delta_rule(
        Q: T.Tensor((NH, S, D), dtype),
        K: T.Tensor((NH, S, D), dtype),
        V: T.Tensor((NH, S, D), dtype),
        Beta: T.Tensor((NH, S), dtype),
        TH: T.Tensor((NH, S, BT), dtype),
        TL: T.Tensor((NH, S, BT), dtype),
        AB: T.Tensor((NH, G - 1, 2, D, D), "float32"),
        O: T.Tensor((NH, S, D), dtype),
    ):
        # Kernel 1: (I + tril(beta K K^T, -1))^-1 diag(beta) of every chunk, as high and low part.
        with T.Kernel(S // BT, NH, threads=128) as (ic, ih):
            ik_s = T.alloc_shared((BT, D), dtype)
            l_hi_s = T.alloc_shared((BT, BT), dtype)
            l_lo_s = T.alloc_shared((BT, BT), dtype)
            x_hi_s = T.alloc_shared((BT, BT), dtype)
            x_lo_s = T.alloc_shared((BT, BT), dtype)
            y_s = T.alloc_shared((BT, BT), dtype)
            x = T.alloc_fragment((BT, BT), "float32")
            y = T.alloc_fragment((BT, BT), "float32")
            ihi = T.alloc_fragment((BT, BT), dtype)
            ilo = T.alloc_fragment((BT, BT), dtype)

            # y_s holds the keys a second time, for the other operand of the first product only.
            T.copy(K[ih, ic * BT : ic * BT + BT, :], ik_s)
            T.copy(K[ih, ic * BT : ic * BT + BT, :], y_s)
            T.gemm(ik_s, y_s, y, transpose_B=True, clear_accum=True)

            # L, strictly lower.
            for i, j in T.Parallel(BT, BT):
                y[i, j] = T.if_then_else(
                    i > j, y[i, j] * T.cast(Beta[ih, ic * BT + i], "float32"), 0.0
                )
            for i, j in T.Parallel(BT, BT):
                ihi[i, j] = T.cast(y[i, j], dtype)
                ilo[i, j] = T.cast(y[i, j] - T.cast(ihi[i, j], "float32"), dtype)
            T.copy(ihi, l_hi_s)
            T.copy(ilo, l_lo_s)

            # Inverse of the 2 by 2 blocks on the diagonal.
            for i, j in T.Parallel(BT, BT):
                x[i, j] = T.if_then_else(
                    i == j,
                    1.0,
                    T.if_then_else(i > j and i // 2 == j // 2, 0.0 - y[i, j], 0.0),
                )

            # Blocks of 2, 4, 8, 16, 32 become blocks of twice the size.
            for lev in T.serial(5):
                T.copy(x, x_hi_s)
                T.gemm(l_hi_s, x_hi_s, y, clear_accum=True)
                for i, j in T.Parallel(BT, BT):
                    y[i, j] = T.if_then_else(
                        (i >> (lev + 2)) == (j >> (lev + 2))
                        and (i >> (lev + 1)) > (j >> (lev + 1)),
                        0.0 - y[i, j],
                        0.0,
                    )
                T.copy(y, y_s)
                T.gemm(x_hi_s, y_s, x)

            # Newton: X += X (I - (I + L) X), with the residual from high and low parts.
            for n in T.serial(2):
                for i, j in T.Parallel(BT, BT):
                    ihi[i, j] = T.cast(x[i, j], dtype)
                    ilo[i, j] = T.cast(x[i, j] - T.cast(ihi[i, j], "float32"), dtype)
                T.copy(ihi, x_hi_s)
                T.copy(ilo, x_lo_s)
                T.gemm(l_hi_s, x_hi_s, y, clear_accum=True)
                T.gemm(l_hi_s, x_lo_s, y)
                T.gemm(l_lo_s, x_hi_s, y)
                for i, j in T.Parallel(BT, BT):
                    y[i, j] = T.if_then_else(i > j, 0.0 - x[i, j] - y[i, j], 0.0)
                T.copy(y, y_s)
                T.gemm(x_hi_s, y_s, x)

            for i, j in T.Parallel(BT, BT):
                x[i, j] = x[i, j] * T.cast(Beta[ih, ic * BT + j], "float32")
            for i, j in T.Parallel(BT, BT):
                ihi[i, j] = T.cast(x[i, j], dtype)
                ilo[i, j] = T.cast(x[i, j] - T.cast(ihi[i, j], "float32"), dtype)
            T.copy(ihi, x_hi_s)
            T.copy(ilo, x_lo_s)
            T.copy(x_hi_s, TH[ih, ic * BT : ic * BT + BT, :])
            T.copy(x_lo_s, TL[ih, ic * BT : ic * BT + BT, :])

        # Kernel 2: a segment maps the state M to A M + Bs. Part 0 gives A, part 1 gives Bs.
        with T.Kernel(2, G - 1, NH, threads=128) as (part, sg, sh):
            sk_s = T.alloc_shared((BT, D), dtype)
            sv_s = T.alloc_shared((BT, D), dtype)
            sth_s = T.alloc_shared((BT, BT), dtype)
            stl_s = T.alloc_shared((BT, BT), dtype)
            m_hi_s = T.alloc_shared((D, D), dtype)
            m_lo_s = T.alloc_shared((D, D), dtype)
            w_hi_s = T.alloc_shared((BT, D), dtype)
            w_lo_s = T.alloc_shared((BT, D), dtype)
            m = T.alloc_fragment((D, D), "float32")
            w = T.alloc_fragment((BT, D), "float32")
            shi = T.alloc_fragment((BT, D), dtype)
            slo = T.alloc_fragment((BT, D), dtype)

            for i, j in T.Parallel(D, D):
                m[i, j] = T.if_then_else(part == 0 and i == j, 1.0, 0.0)

            for sc in T.Pipelined(NC, num_stages=2):
                T.copy(K[sh, (sg * NC + sc) * BT : (sg * NC + sc) * BT + BT, :], sk_s)
                T.copy(V[sh, (sg * NC + sc) * BT : (sg * NC + sc) * BT + BT, :], sv_s)
                T.copy(TH[sh, (sg * NC + sc) * BT : (sg * NC + sc) * BT + BT, :], sth_s)
                T.copy(TL[sh, (sg * NC + sc) * BT : (sg * NC + sc) * BT + BT, :], stl_s)

                for i, j in T.Parallel(D, D):
                    shi[i, j] = T.cast(m[i, j], dtype)
                    slo[i, j] = T.cast(m[i, j] - T.cast(shi[i, j], "float32"), dtype)
                T.copy(shi, m_hi_s)
                T.copy(slo, m_lo_s)

                # V - K M
                T.gemm(sk_s, m_hi_s, w, clear_accum=True)
                T.gemm(sk_s, m_lo_s, w)
                for i, j in T.Parallel(BT, D):
                    w[i, j] = (
                        T.if_then_else(part == 1, T.cast(sv_s[i, j], "float32"), 0.0) - w[i, j]
                    )
                for i, j in T.Parallel(BT, D):
                    shi[i, j] = T.cast(w[i, j], dtype)
                    slo[i, j] = T.cast(w[i, j] - T.cast(shi[i, j], "float32"), dtype)
                T.copy(shi, w_hi_s)
                T.copy(slo, w_lo_s)

                # U
                T.gemm(sth_s, w_hi_s, w, clear_accum=True)
                T.gemm(sth_s, w_lo_s, w)
                T.gemm(stl_s, w_hi_s, w)
                for i, j in T.Parallel(BT, D):
                    shi[i, j] = T.cast(w[i, j], dtype)
                    slo[i, j] = T.cast(w[i, j] - T.cast(shi[i, j], "float32"), dtype)
                T.copy(shi, m_hi_s)
                T.copy(slo, m_lo_s)

                # The state after this chunk.
                T.gemm(sk_s, m_hi_s, m, transpose_A=True)
                T.gemm(sk_s, m_lo_s, m, transpose_A=True)

            T.copy(m, AB[sh, sg, part, :, :])

        # Kernel 3: a block composes the earlier segments and walks over the chunks of its own.
        with T.Kernel(G, NH, threads=128) as (slot, head):
            q_s = T.alloc_shared((BT, D), dtype)
            k_s = T.alloc_shared((BT, D), dtype)
            v_s = T.alloc_shared((BT, D), dtype)
            th_s = T.alloc_shared((BT, BT), dtype)
            tl_s = T.alloc_shared((BT, BT), dtype)
            s_hi_s = T.alloc_shared((D, D), dtype)
            s_lo_s = T.alloc_shared((D, D), dtype)
            p_hi_s = T.alloc_shared((BT, BT), dtype)
            p_lo_s = T.alloc_shared((BT, BT), dtype)
            r_hi_s = T.alloc_shared((BT, D), dtype)
            r_lo_s = T.alloc_shared((BT, D), dtype)
            u_hi_s = T.alloc_shared((BT, D), dtype)
            u_lo_s = T.alloc_shared((BT, D), dtype)
            o_s = T.alloc_shared((BT, D), dtype)
            state = T.alloc_fragment((D, D), "float32")
            s = T.alloc_fragment((BT, BT), "float32")
            r = T.alloc_fragment((BT, D), "float32")
            o = T.alloc_fragment((BT, D), "float32")
            hi = T.alloc_fragment((BT, D), dtype)
            lo = T.alloc_fragment((BT, D), dtype)

            # The segments with the longest prefix start first.
            g = G - 1 - slot

            # state = A state + Bs for every earlier segment.
            T.clear(state)
            for p in T.serial(g):
                for i, j in T.Parallel(D, D):
                    hi[i, j] = T.cast(state[i, j], dtype)
                    lo[i, j] = T.cast(state[i, j] - T.cast(hi[i, j], "float32"), dtype)
                T.copy(hi, s_hi_s)
                T.copy(lo, s_lo_s)
                for i, j in T.Parallel(D, D):
                    r[i, j] = AB[head, p, 0, i, j]
                for i, j in T.Parallel(D, D):
                    hi[i, j] = T.cast(r[i, j], dtype)
                    lo[i, j] = T.cast(r[i, j] - T.cast(hi[i, j], "float32"), dtype)
                T.copy(hi, p_hi_s)
                T.copy(lo, p_lo_s)
                for i, j in T.Parallel(D, D):
                    state[i, j] = AB[head, p, 1, i, j]
                T.gemm(p_hi_s, s_hi_s, state)
                T.gemm(p_hi_s, s_lo_s, state)
                T.gemm(p_lo_s, s_hi_s, state)

            for c in T.Pipelined(NC, num_stages=2):
                T.copy(Q[head, (g * NC + c) * BT : (g * NC + c) * BT + BT, :], q_s)
                T.copy(K[head, (g * NC + c) * BT : (g * NC + c) * BT + BT, :], k_s)
                T.copy(V[head, (g * NC + c) * BT : (g * NC + c) * BT + BT, :], v_s)
                T.copy(TH[head, (g * NC + c) * BT : (g * NC + c) * BT + BT, :], th_s)
                T.copy(TL[head, (g * NC + c) * BT : (g * NC + c) * BT + BT, :], tl_s)

                # The state before this chunk, as the sum of two narrow numbers.
                for i, j in T.Parallel(D, D):
                    hi[i, j] = T.cast(state[i, j], dtype)
                    lo[i, j] = T.cast(state[i, j] - T.cast(hi[i, j], "float32"), dtype)
                T.copy(hi, s_hi_s)
                T.copy(lo, s_lo_s)

                # Masked scores within the chunk.
                T.gemm(q_s, k_s, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(BT, BT):
                    s[i, j] = T.if_then_else(i >= j, s[i, j], 0.0)
                for i, j in T.Parallel(BT, BT):
                    hi[i, j] = T.cast(s[i, j], dtype)
                    lo[i, j] = T.cast(s[i, j] - T.cast(hi[i, j], "float32"), dtype)
                T.copy(hi, p_hi_s)
                T.copy(lo, p_lo_s)

                # V - K M
                T.gemm(k_s, s_hi_s, r, clear_accum=True)
                T.gemm(k_s, s_lo_s, r)
                for i, j in T.Parallel(BT, D):
                    r[i, j] = T.cast(v_s[i, j], "float32") - r[i, j]
                for i, j in T.Parallel(BT, D):
                    hi[i, j] = T.cast(r[i, j], dtype)
                    lo[i, j] = T.cast(r[i, j] - T.cast(hi[i, j], "float32"), dtype)
                T.copy(hi, r_hi_s)
                T.copy(lo, r_lo_s)

                # Q M
                T.gemm(q_s, s_hi_s, o, clear_accum=True)
                T.gemm(q_s, s_lo_s, o)

                # U
                T.gemm(th_s, r_hi_s, r, clear_accum=True)
                T.gemm(th_s, r_lo_s, r)
                T.gemm(tl_s, r_hi_s, r)
                for i, j in T.Parallel(BT, D):
                    hi[i, j] = T.cast(r[i, j], dtype)
                    lo[i, j] = T.cast(r[i, j] - T.cast(hi[i, j], "float32"), dtype)
                T.copy(hi, u_hi_s)
                T.copy(lo, u_lo_s)

                # Scores times U
                T.gemm(p_hi_s, u_hi_s, o)
                T.gemm(p_hi_s, u_lo_s, o)
                T.gemm(p_lo_s, u_hi_s, o)

                # The state after this chunk.
                T.gemm(k_s, u_hi_s, state, transpose_A=True)
                T.gemm(k_s, u_lo_s, state, transpose_A=True)

                for i, j in T.Parallel(BT, D):
                    o[i, j] = o[i, j] * scale
                T.copy(o, o_s)
                T.copy(o_s, O[head, (g * NC + c) * BT : (g * NC + c) * BT + BT, :])

    return delta_rule


class ModelNew(nn.Module):
    def __init__(self, block: int):
        super().__init__()
        self.block = block
        self.kernels = {}

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor
    ) -> torch.Tensor:
        B, H, S, D = q.shape
        key = (B * H, S, D, str(q.dtype).removeprefix("torch."))
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[7], pass_configs=PLAIN)
        high = torch.empty((B * H, S, TILE), dtype=q.dtype, device=q.device)
        low = torch.empty((B * H, S, TILE), dtype=q.dtype, device=q.device)
        maps = torch.empty(
            (B * H, S // (TILE * CHUNKS) - 1, 2, D, D), dtype=torch.float32, device=q.device
        )
        out = self.kernels[key](
            q.contiguous().view(B * H, S, D),
            k.contiguous().view(B * H, S, D),
            v.contiguous().view(B * H, S, D),
            beta.contiguous().view(B * H, S),
            high,
            low,
            maps,
        )
        return out.view(B, H, S, D)
