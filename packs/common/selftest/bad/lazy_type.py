# A tensor class made by type().
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        kind = type('C', (torch.Tensor,), {})
        return x.as_subclass(kind)
