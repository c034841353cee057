# Methods and functions of the file's own that share a name with a built-in.
import torch
import torch.nn as nn


class Plan:
    def __init__(self):
        self.ready = False

    def compile(self, x):
        self.ready = True
        return self

    def open(self):
        return self.ready

    def exit(self):
        self.ready = False


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.plan = Plan()
        self.eval()

    def forward(self, x):
        plan = self.plan.compile(x)
        out = torch.empty_like(x)
        if plan.open():
            launch_kernel(x, out)
        plan.exit()
        return out
