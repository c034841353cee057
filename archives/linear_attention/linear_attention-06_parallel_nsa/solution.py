import tilelang
import tilelang.language as T
import torch
import torch.nn as nn

# A block is one warp that copies and multiplies; tiles are fetched by asynchronous copies of
# 16 bytes and not by a producer warp group or the tensor memory accelerator.
WANTED = ("TL_DISABLE_WARP_SPECIALIZED", "TL_DISABLE_TMA_LOWER")
PLAIN = {key: True for key in tilelang.PassConfigKey if key.name in WANTED}


def build(B, L, HQ, H, D, S, block, dtype, index_dtype):
    G = HQ // H  # query heads that share a head of keys
    C = block  # keys in a block
    LAST = L - C  # first position of the last block
    c = float(D) ** -0.5 * 1.4426950408889634  # exp2 is the faster exponential

    @T.prim_func
    def selected_attention(
        Q: T.Tensor((B, L, HQ, D), dtype),
        K: T.Tensor((B, L, H, D), dtype),
        V: T.Tensor((B, L, H, D), dtype),
        Idx: T.Tensor((B, L, H, S), index_dtype),
        Out: T.Tensor((B, L, HQ, D), dtype),
    ):
        with T.Kernel(L, H, B, threads=32) as (t, h, b):
            q_s = T.alloc_shared((G, D), dtype)
            k_s = T.alloc_shared((C, D), dtype)
            v_s = T.alloc_shared((C, D), dtype)
            o_s = T.alloc_shared((G, D), dtype)
            s = T.alloc_fragment((G, C), "float32")
            p = T.alloc_fragment((G, C), dtype)
            o = T.alloc_fragment((G, D), "float32")
            m = T.alloc_fragment((G,), "float32")
            before = T.alloc_fragment((G,), "float32")
            shrink = T.alloc_fragment((G,), "float32")
            part = T.alloc_fragment((G,), "float32")
            total = T.alloc_fragment((G,), "float32")

            # First positions of the two blocks; L stands for no block and is masked.
            i0 = T.cast(Idx[b, t, h, 0], "int32")
            i1 = T.cast(Idx[b, t, h, 1], "int32")
            start0 = T.if_then_else(i0 >= 0, i0 * C, L)
            start1 = T.if_then_else(i1 == i0, L, T.if_then_else(i1 >= 0, i1 * C, L))
            start_step = start1 - start0
            # Where the tiles are read: always inside of the batch.
            row0 = T.min(start0, LAST)
            row1 = T.min(start1, LAST)
            row_step = row1 - row0

            T.copy(Q[b, t, h * G : (h + 1) * G, :], q_s)
            T.clear(o)
            T.clear(total)
            T.fill(m, -1e30)

            for n in T.Pipelined(2, num_stages=2):
                T.copy(K[b, row0 + n * row_step : row0 + n * row_step + C, h, :], k_s)
                T.copy(V[b, row0 + n * row_step : row0 + n * row_step + C, h, :], v_s)
                T.gemm(
                    q_s,
                    k_s,
                    s,
                    transpose_B=True,
                    policy=T.GemmWarpPolicy.FullRow,
                    clear_accum=True,
                )
                # Later keys, later blocks and no block at all.
                for i, j in T.Parallel(G, C):
                    s[i, j] = T.if_then_else(
                        start0 + n * start_step + j <= t, s[i, j], -T.infinity("float32")
                    )
                T.copy(m, before)
                T.reduce_max(s, m, dim=1, clear=False)
                for i in T.Parallel(G):
                    shrink[i] = T.exp2((before[i] - m[i]) * c)
                for i, j in T.Parallel(G, C):
                    s[i, j] = T.exp2((s[i, j] - m[i]) * c)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(G):
                    total[i] = total[i] * shrink[i] + part[i]
                for i, j in T.Parallel(G, D):
                    o[i, j] = o[i, j] * shrink[i]
                T.copy(s, p)
                T.gemm(p, v_s, o, policy=T.GemmWarpPolicy.FullRow)

            for i, j in T.Parallel(G, D):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, o_s)
            T.copy(o_s, Out[b, t, h * G : (h + 1) * G, :])

    return selected_attention


class ModelNew(nn.Module):
    def __init__(self, block: int):
        super().__init__()
        self.block = block
        self.kernels = {}

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block_indices: torch.Tensor
    ) -> torch.Tensor:
        batch, steps, query_heads, width = q.shape
        key = (
            batch,
            steps,
            query_heads,
            k.shape[2],
            width,
            block_indices.shape[3],
            self.block,
            str(q.dtype).removeprefix("torch."),
            str(block_indices.dtype).removeprefix("torch."),
        )
        if key not in self.kernels:
            self.kernels[key] = tilelang.compile(build(*key), out_idx=[4], pass_configs=PLAIN)
        return self.kernels[key](
            q.contiguous(), k.contiguous(), v.contiguous(), block_indices.contiguous()
        )
