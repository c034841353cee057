# Refused by the literal rules although it is honest: the docstring says forward pass.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        """Forward pass."""
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
