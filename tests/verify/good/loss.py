import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss_kernel(a, b, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    d = tl.load(a + i, mask=i < n, other=0.0) - tl.load(b + i, mask=i < n, other=0.0)
    tl.store(y, tl.sum(d * d, axis=0) / n)


class ModelNew(nn.Module):
    def forward(self, prediction, target):
        y = torch.empty((), dtype=torch.float32, device=prediction.device)
        loss_kernel[(1,)](prediction, target, y, prediction.numel(), B=2048)
        return y
