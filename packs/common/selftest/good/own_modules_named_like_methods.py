# An object of the file's own may have the name of a tensor method: self is no tensor.
import torch
import torch.nn as nn


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.weight, out)
        return out


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = Norm(n)
        self.sum = Norm(n)

    def relu(self, x):
        launch_kernel(x, x)
        return x

    def forward(self, x):
        return self.relu(self.sum(self.norm(x)))
