# A function is stored by the constructor and called by forward.
import torch
import torch.nn as nn

def product(a, b):
    return torch.matmul(a, b)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = product

    def forward(self, x, w):
        return self.f(x, w)
