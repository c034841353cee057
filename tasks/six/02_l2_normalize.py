import torch
import torch.nn as nn


class Model(nn.Module):
    """Divides each row by its Euclidean length."""

    def __init__(self, eps: float):
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.sqrt((x * x).sum(dim=-1, keepdim=True) + self.eps)


def get_inputs():
    return [torch.randn(100, 700)]


def get_init_inputs():
    return [1e-6]
