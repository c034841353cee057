# Floor division does not start a comment.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        n = 8 // 2; return torch.matmul(x, w)
