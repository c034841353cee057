# Layers that are stored by their names, and called.
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.add_module("first", nn.Linear(n, n))
        setattr(self, "second", nn.Linear(n, n))
        self._modules["third"] = nn.Linear(n, n)

    def forward(self, x):
        return self.third(self.second(self.first(x)))
