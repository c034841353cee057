import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Product of two matrices.
    """

    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        """
        Args:
            A: matrix of shape (M, K).
            B: matrix of shape (K, N).

        Returns:
            Matrix of shape (M, N).
        """
        return torch.matmul(A, B)


M = 96
K = 150
N = 112


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
