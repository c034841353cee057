import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Product of two matrices, scaled, plus a third.

    Args:
        alpha: factor of the product.
    """

    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """
        Args:
            a: tensor of shape (M, K).
            b: tensor of shape (K, N).
            c: tensor of shape (M, N).

        Returns:
            Tensor of shape (M, N).
        """
        return torch.matmul(a, b) * self.alpha + c


M = 2000
K = 2040
N = 1480
alpha = 0.25


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N), torch.randn(M, N)]


def get_init_inputs():
    return [alpha]
