# The methods that go with streams.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = None

    def forward(self, x, w):
        x.record_stream(self.s)
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
