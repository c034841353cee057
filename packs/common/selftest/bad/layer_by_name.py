# A layer imported by name is called.
import torch.nn as nn
from torch.nn import Linear


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = Linear(4, 4)

    def forward(self, x):
        return self.lin(x)
