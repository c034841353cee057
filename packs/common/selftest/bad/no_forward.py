# ModelNew has no forward of its own.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def run(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out)
        return out
