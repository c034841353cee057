# A fused kernel whose scale and bias are left to torch: each operator is a warning, the product an
# error.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        return (x * 2.0) @ w
