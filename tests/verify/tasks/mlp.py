"""Layers in a list."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        pairs = zip(sizes, sizes[1:])
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def get_inputs():
    return [torch.randn(8, 16)]


def get_init_inputs():
    return [[16, 24, 20, 12]]
