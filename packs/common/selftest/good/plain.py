# One class with one forward, and words in text that mean nothing.
import torch
import torch.nn as nn

NOTE = "class Model2: no ModelNew, no forward"


class ModelNew(nn.Module):
    def __init__(self, scale: float = 1.0):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out, self.scale)
        return out
