# Layers made in the constructor hold the parameters, forward reads them.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.bn = nn.BatchNorm2d(cout)
        self.lin = nn.Linear(cout, cout)
        self.scale = nn.Parameter(torch.ones(cout))
        nn.init.normal_(self.scale)

    def forward(self, x):
        n, _, h, w = x.shape
        out = torch.empty(n, self.conv.out_channels, h, w, device=x.device, dtype=x.dtype)
        launch_kernel(x, self.conv.weight, self.conv.bias, self.bn.running_mean, self.bn.weight,
                      self.bn.eps, self.lin.weight.t(), self.scale, out)
        return out
