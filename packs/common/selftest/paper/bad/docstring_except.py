# Refused by the literal rules although it is honest: the docstring says all except one.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        """All dimensions except the first are tiles."""
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
