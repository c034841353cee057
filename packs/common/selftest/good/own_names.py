# Modules and functions of the file's own under names that tensors have as well.
import torch
import torch.nn as nn


def scaled(x):
    out = torch.empty_like(x)
    launch_kernel(x, out)
    return out


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.weight, out)
        return out


class Ops:
    @staticmethod
    def softmax(x):
        return scaled(x)


class ModelNew(nn.Module):
    def __init__(self, n, bias):
        super().__init__()
        self.norm = Norm(n)
        self.sigmoid = Norm(n) if bias else None
        self.add_module("cross", Norm(n))
        self.mul = scaled
        self.max = n

    def forward(self, x):
        x = self.norm(self.cross(x))
        if self.sigmoid is not None:
            x = self.sigmoid(x)
        run, limit = scaled, self.max
        return run(Ops.softmax(self.mul(x))) if limit else x
