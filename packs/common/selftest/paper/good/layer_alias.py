# Accepted by the literal rules although it cheats: the usual import torch.nn as nn hides
# torch.nn.Linear.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x)
