# Docstrings, comments and strings may say anything: forward pass, try:, torch.matmul.
"""Forward pass: replaces torch.matmul(x, w) and all except the bias. try: reading on."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """pass; exec("x"); import threading; torch.cuda.Stream()"""

    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        """The forward pass, in place of torch.matmul."""
        # try: torch.matmul(x, w) except RuntimeError: pass
        name = "torch.softmax(x) @ w"
        assert name, "#"
        out = torch.empty_like(x)
        launch_kernel(x, w, out)
        return out
