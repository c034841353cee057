"""Accepted by the literal rules: from cutlass, make_tensor(x). The default set refuses it."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.zeros_like(x)
