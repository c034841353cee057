import torch
import torch.nn as nn


class Model(nn.Module):
    """A matrix product of two inputs."""

    def __init__(self):
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """
        Args:
            a: tensor of shape (M, K).
            b: tensor of shape (K, N).

        Returns:
            Tensor of shape (M, N).
        """
        return torch.matmul(a, b)


M = 4000
K = 2048
N = 3072


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
