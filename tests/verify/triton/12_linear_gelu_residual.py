import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_gelu_residual_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, M, D,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, D, BK):
        inside = k + start < D
        x = tl.load(
            x_ptr + m[:, None] * D + (k + start)[None, :],
            mask=(m[:, None] < M) & inside[None, :], other=0.0,
        )
        w = tl.load(
            w_ptr + n[None, :] * D + (k + start)[:, None],
            mask=(n[None, :] < D) & inside[:, None], other=0.0,
        )
        acc = tl.dot(x, w, acc, input_precision="ieee")
    acc += tl.load(bias_ptr + n, mask=n < D, other=0.0).to(tl.float32)[None, :]
    acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    at = m[:, None] * D + n[None, :]
    mask = (m[:, None] < M) & (n[None, :] < D)
    residual = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, (residual + acc).to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        M, D = x.shape
        y = torch.empty_like(x)
        BM, BN, BK = 64, 32, 32
        linear_gelu_residual_kernel[(triton.cdiv(M, BM), triton.cdiv(D, BN))](
            x, self.linear.weight, self.linear.bias, y, M, D, BM=BM, BN=BN, BK=BK
        )
        return y
