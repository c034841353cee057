# A function of the file does the work for forward.
import torch
import torch.nn as nn

def product(a, b):
    return torch.einsum("ij,jk->ik", a, b)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        return product(x, w)
