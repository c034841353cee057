# Masks and gathers as methods.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.order = None

    def forward(self, x, w):
        return x.masked_fill(w, 0.0).index_select(0, self.order)
