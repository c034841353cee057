# A name with two meanings is followed to both.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, clean: bool = False):
        if clean:
            out = torch.zeros_like(x)
        else:
            out = torch.empty_like(x)
        launch_kernel(x, out)
        return out
