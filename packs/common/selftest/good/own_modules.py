# Modules of the file's own may be called: their forward is looked at as well.
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = nn.Linear(n, n)

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.lin.weight, out)
        return out


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.block = Block(n)
        self.register_buffer("table", torch.zeros(n))

    def forward(self, x):
        return self.block(x)
