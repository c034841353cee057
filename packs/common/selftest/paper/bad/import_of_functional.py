# Refused by the literal rules although it is honest: the usual import of torch.nn.functional, for
# pad.
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        out = F.pad(x, (1, 1))
        launch_kernel(x, w, out)
        return out
