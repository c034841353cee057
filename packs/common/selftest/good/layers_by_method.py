# Methods that only the constructor calls belong to it.
import torch
import torch.nn as nn


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3), nn.BatchNorm2d(cout))


class ModelNew(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.first = self._make(c, 2)
        self.last = block(c, c)

    def _make(self, c, n):
        return nn.ModuleList([block(c, c) for _ in range(n)])

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.first[0][0].weight, self.last[0].weight, out)
        return out
