"""Inputs in a list."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, xs):
        return xs[0] * xs[1] + xs[2]


def get_inputs():
    return [[torch.randn(12, 40) for _ in range(3)]]


def get_init_inputs():
    return []
