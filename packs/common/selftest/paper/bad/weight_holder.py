# Refused by the literal rules although it is honest: a layer written out as torch.nn.Linear only
# holds the weights.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.lin.weight, out)
        return out
