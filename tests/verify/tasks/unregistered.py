"""Random tensors that no state dict has, and arguments of the constructor that are drawn: the
candidate's constructor makes the same ones."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, shift):
        super().__init__()
        self.scale = torch.rand(1024) + 0.5
        self.shift = shift

    def forward(self, x):
        return x * self.scale + self.shift


def get_inputs():
    return [torch.rand(128, 1024)]


def get_init_inputs():
    return [torch.randn(1024)]
