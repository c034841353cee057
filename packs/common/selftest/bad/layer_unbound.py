# The forward of a layer's class is called with the layer as its argument.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return nn.Linear.forward(self.lin, x)
