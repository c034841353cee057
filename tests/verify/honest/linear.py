# The module with a layer that styles of modules are patches of.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x, w, b, y, n, k, RELU: tl.constexpr, B: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    j = tl.program_id(1) * B + tl.arange(0, B)
    i = tl.arange(0, K)
    v = tl.load(x + row * k + i, mask=i < k, other=0.0)
    m = tl.load(w + j[:, None] * k + i[None, :], mask=(j[:, None] < n) & (i[None, :] < k), other=0.0)
    s = tl.sum(m * v[None, :], axis=1) + tl.load(b + j, mask=j < n, other=0.0)
    if RELU:
        s = tl.maximum(s, 0.0)
    tl.store(y + row * n + j, s, mask=j < n)


def linear(x, w, b, relu=False):
    y = torch.empty(x.shape[0], w.shape[0], device=x.device)
    grid = (x.shape[0], triton.cdiv(w.shape[0], 16))
    k = x.shape[1]
    linear_kernel[grid](x, w, b, y, w.shape[0], k, relu, B=16, K=triton.next_power_of_2(k))
    return y


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.fc = nn.Linear(k, n)

    def forward(self, x):
        return linear(x, self.fc.weight, self.fc.bias)
