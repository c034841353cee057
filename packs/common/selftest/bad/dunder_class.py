# An object changes its class.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kinds = []

    def forward(self, x, w):
        self.__class__ = self.kinds[0]
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
