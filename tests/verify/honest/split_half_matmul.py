"""Each fp32 operand is loaded as a sum of two fp16 parts; three products of parts are
accumulated in fp32, which leaves an error near that of fp32 itself."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split(x):
    high = x.to(tl.float16)
    low = ((x - high.to(tl.float32)) * 2048.0).to(tl.float16)
    return high, low


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    main = tl.zeros((BM, BN), tl.float32)
    rest = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0
        )
        a_high, a_low = split(a)
        b_high, b_low = split(b)
        main = tl.dot(a_high, b_high, main)
        rest = tl.dot(a_low, b_high, rest)
        rest = tl.dot(a_high, b_low, rest)
    tl.store(
        c_ptr + m[:, None] * N + n[None, :], main + rest * (1.0 / 2048.0),
        mask=(m[:, None] < M) & (n[None, :] < N),
    )


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        A, B = A.contiguous(), B.contiguous()
        M, K, N = A.size(0), A.size(1), B.size(1)
        C = torch.empty(M, N, device=A.device, dtype=A.dtype)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
        matmul_kernel[grid](A, B, C, M, N, K, BM=32, BN=64, BK=64)
        return C
