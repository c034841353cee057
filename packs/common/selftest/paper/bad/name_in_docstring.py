# Refused by the literal rules although it is honest: the docstring names what the kernel replaces.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        """Replaces torch.matmul (x, w)."""
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
