# A method on a parameter is on the way to the result too.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        v = self.scale.exp()
        out = torch.empty_like(x)
        launch_kernel(x, v, out)
        return out
