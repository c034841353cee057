import torch
import torch.nn as nn


class Model(nn.Module):
    """The mean hinge loss of scores against labels of -1 or 1."""

    def forward(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.clamp(1 - scores * labels, min=0).mean()


def get_inputs():
    return [torch.randn(5000), torch.randint(0, 2, (5000,)).float() * 2 - 1]


def get_init_inputs():
    return []
