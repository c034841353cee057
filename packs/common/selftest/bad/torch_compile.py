# A compiler makes the kernel.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        return torch.compile(lambda a, b: a @ b)(x, w)
