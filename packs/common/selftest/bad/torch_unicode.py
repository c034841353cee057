# Python reads full-width letters as the plain ones.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        return torch.ｍａｔｍｕｌ(x, w)
