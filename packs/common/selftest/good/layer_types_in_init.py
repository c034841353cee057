# The constructor may ask what a layer is, and take a layer class as an argument.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, c, norm=nn.BatchNorm2d):
        super().__init__()
        self.conv = nn.Conv2d(c, c, 1)
        self.norm = norm(c)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)

    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, self.conv.weight, self.norm.weight, out)
        return out
