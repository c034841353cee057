"""Parameters in a list and in a dict."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gains = nn.ParameterList(nn.Parameter(torch.randn(features)) for _ in range(2))
        self.shifts = nn.ParameterDict({"out": nn.Parameter(torch.randn(features))})

    def forward(self, x):
        return torch.sigmoid(x * self.gains[0]) * self.gains[1] + self.shifts["out"]


def get_inputs():
    return [torch.randn(12, 40)]


def get_init_inputs():
    return [40]
