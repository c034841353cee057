import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    k = tl.arange(0, K)
    x = tl.load(a + m * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n)
    tl.store(c + m * N + n, tl.dot(x, y, input_precision="ieee"))


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(a.shape[0], b.shape[1], device=a.device)
        matmul_kernel[(1,)](a, b, c, a.shape[0], b.shape[1], a.shape[1])
        return c
