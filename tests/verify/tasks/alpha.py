"""A number among the inputs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, alpha, steps):
        return x * alpha + steps


def get_inputs():
    return [torch.randn(12, 40), 0.5, 3]


def get_init_inputs():
    return []
