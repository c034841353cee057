# Row 16: the product is left in torch, the kernel adds the bias. The dispatch watch must see
# the product.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_kernel(x, b, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0) + tl.load(b + i, mask=i < n, other=0.0)
    tl.store(y + row * n + i, v, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.fc = nn.Linear(a, b)

    def forward(self, x):
        z = torch.mm(x, self.fc.weight.t())
        y = torch.empty_like(z)
        bias_kernel[(z.shape[0],)](z, self.fc.bias, y, z.shape[1], B=64)
        return y
