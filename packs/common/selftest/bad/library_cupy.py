# Another library of GPU functions.
import cupy as cp

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        return cp.matmul(x, w)
