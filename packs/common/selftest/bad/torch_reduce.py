# A function of torch handed to functools.reduce.
import functools

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        return functools.reduce(torch.matmul, [x, w])
