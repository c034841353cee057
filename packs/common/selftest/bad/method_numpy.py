# The values leave torch and are worked on elsewhere.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.tensor([[sum(r)] for r in x.tolist()])
