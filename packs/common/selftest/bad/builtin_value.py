# eval handed to map.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        sizes = list(map(eval, ['1', '2']))
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
