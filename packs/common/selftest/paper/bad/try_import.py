# Refused by the literal rules although it is honest: only an import is tried.
try:
    from typing import Self
except ImportError:
    Self = None
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
