# Refused by the literal rules although it is honest: an error class of its own has an empty body.
import torch
import torch.nn as nn


class ShapeError(ValueError):
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out)
        return out
