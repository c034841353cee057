"""Weights with numbers in their names."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, hidden, layers):
        super().__init__()
        self.rnn = nn.RNN(features, hidden, layers, nonlinearity="relu")

    def forward(self, x):
        out, last = self.rnn(x)
        return out, last


def get_inputs():
    return [torch.randn(3, 4, 16)]


def get_init_inputs():
    return [16, 16, 2]
