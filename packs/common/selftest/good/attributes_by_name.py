# setattr and getattr on self, for plain values.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        for i in range(n):
            setattr(self, f"w{i}", nn.Parameter(torch.randn(4, 4)))
        self.n += 1

    def forward(self, x):
        out = torch.empty_like(x)
        for i in range(self.n - 1):
            w = getattr(self, f"w{i}")
            launch_kernel(x, w, out)
        return out
