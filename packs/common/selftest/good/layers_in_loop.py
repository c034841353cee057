# A loop over layers that only reads their weights.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

    def forward(self, x):
        for layer in self.layers:
            out = x.new_empty(x.shape[0], layer.out_features)
            launch_kernel(x, layer.weight, layer.bias, out)
            x = out
        return x
