# self.norm is a module now and then, and a method of a tensor at other times.
import torch.nn as nn


class Norm(nn.Module):
    def forward(self, x):
        return x


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()

    def forward(self, x):
        if x.shape[0] > 1:
            self.norm = x.norm
        return self.norm(-1)
