# There is no ModelNew: the class has another name.
import torch
import torch.nn as nn


class Model2(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out)
        return out
