# Refused by the literal rules, and rightly: torch computes on another stream; the stream alone would
# be a warning.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = torch.cuda.Stream()

    def forward(self, x, w):
        with torch.cuda.stream(self.s):
            return torch.matmul(x, w)
