import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Product of two matrices, limited to a range.

    Args:
        limit: the largest absolute value of the result.
    """

    def __init__(self, limit: float):
        super().__init__()
        self.limit = limit

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """
        Args:
            a: tensor of shape (M, K).
            b: tensor of shape (K, N).

        Returns:
            Tensor of shape (M, N).
        """
        return torch.clamp(torch.matmul(a, b), -self.limit, self.limit)


M = 2000
K = 2040
N = 1480
limit = 60.0


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return [limit]
