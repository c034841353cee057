"""A product of two inputs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand(32, 64), torch.rand(64, 32)]


def get_init_inputs():
    return []
