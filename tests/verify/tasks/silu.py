"""Small: for styles of host code."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.silu(x)


def get_inputs():
    return [torch.randn(12, 40)]


def get_init_inputs():
    return []
