import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def matmul_kernel(a_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr, STAGES: tl.constexpr, EXACT: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    m = (tl.program_id(0) // tiles_n) * BM + tl.arange(0, BM)
    n = (tl.program_id(0) % tiles_n) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a_ptr + m.to(tl.int64)[:, None] * K + k[None, :]
    b_at = b_ptr + k.to(tl.int64)[:, None] * N + n[None, :]
    a_tiles = tlx.local_alloc((BM, BK), tlx.dtype_of(a_ptr), STAGES)
    b_tiles = tlx.local_alloc((BK, BN), tlx.dtype_of(b_ptr), STAGES)
    for s in tl.static_range(STAGES - 1):
        left = K - s * BK
        ta = tlx.async_load(a_at, a_tiles[s], mask=(m < M)[:, None] & (k < left)[None, :])
        tb = tlx.async_load(b_at, b_tiles[s], mask=(k < left)[:, None] & (n < N)[None, :])
        tlx.async_load_commit_group([ta, tb])
        a_at += BK
        b_at += BK * N
    acc = tl.zeros((BM, BN), tl.float32)
    for step in tl.range(0, tl.cdiv(K, BK), num_stages=0):
        now = step % STAGES
        tlx.async_load_wait_group(STAGES - 2)
        if EXACT:
            a = tlx.local_load(a_tiles[now])
            acc = tl.dot(a, tlx.local_load(b_tiles[now]), acc, input_precision="ieee")
        else:
            acc = tlx.async_dot(a_tiles[now], b_tiles[now], acc)
            acc = tlx.async_dot_wait(1, acc)
        ahead = step + STAGES - 1
        left = K - ahead * BK
        ta = tlx.async_load(a_at, a_tiles[ahead % STAGES],
                            mask=(m < M)[:, None] & (k < left)[None, :])
        tb = tlx.async_load(b_at, b_tiles[ahead % STAGES],
                            mask=(k < left)[:, None] & (n < N)[None, :])
        tlx.async_load_commit_group([ta, tb])
        a_at += BK
        b_at += BK * N
    if not EXACT:
        acc = tlx.async_dot_wait(0, acc)
    y_at = y_ptr + m.to(tl.int64)[:, None] * N + n[None, :]
    tl.store(y_at, acc.to(tlx.dtype_of(y_ptr)), mask=(m < M)[:, None] & (n < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        y = torch.empty((M, N), device=a.device, dtype=a.dtype)
        exact = a.dtype == torch.float32
        BM, BN, BK, warps = (64, 64, 32, 4) if exact else (128, 128, 64, 8)
        grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
        matmul_kernel[grid](
            a, b, y, M, N, K, BM=BM, BN=BN, BK=BK, STAGES=3, EXACT=exact, num_warps=warps
        )
        return y
