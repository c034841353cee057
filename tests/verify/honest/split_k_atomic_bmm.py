"""Programs share the inner dimension and add into zeros; a second kernel, whose
function is a parameter, finishes in place."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softcap(x, cap):
    return cap * (2.0 * tl.sigmoid(2.0 * x / cap) - 1.0)


@triton.jit
def add_products_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, SPLIT, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    batch = tl.program_id(1)
    part = tl.program_id(0) % SPLIT
    tile = tl.program_id(0) // SPLIT
    m = (tile // tl.cdiv(N, BN)) * BM + tl.arange(0, BM)
    n = (tile % tl.cdiv(N, BN)) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(part * BK, K, SPLIT * BK):
        k = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + batch * M * K + m[:, None] * K + k[None, :],
            mask=(m[:, None] < M) & (k[None, :] < K), other=0.0,
        )
        b = tl.load(
            b_ptr + batch * K * N + k[:, None] * N + n[None, :],
            mask=(k[:, None] < K) & (n[None, :] < N), other=0.0,
        )
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.atomic_add(
        c_ptr + batch * M * N + m[:, None] * N + n[None, :], acc,
        mask=(m[:, None] < M) & (n[None, :] < N),
    )


@triton.jit
def finish_kernel(c_ptr, n, cap, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.load(c_ptr + i, mask=i < n)
    tl.store(c_ptr + i, FUNCTION(c, cap), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, cap: float):
        super().__init__()
        self.cap = cap

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        A, B = A.contiguous(), B.contiguous()
        batch, M, K = A.shape
        N = B.shape[-1]
        C = torch.zeros(batch, M, N, dtype=torch.float32, device=A.device)
        split = 2
        tiles = triton.cdiv(M, 16) * triton.cdiv(N, 64)
        add_products_kernel[(tiles * split, batch)](A, B, C, M, N, K, split, BM=16, BN=64, BK=32)
        n = C.numel()
        finish_kernel[(triton.cdiv(n, 4096),)](C, n, self.cap, FUNCTION=softcap, BLOCK=4096)
        return C.to(A.dtype)
