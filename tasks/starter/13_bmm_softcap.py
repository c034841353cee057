import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Products of a batch of matrices, bounded smoothly to (-cap, cap).

    Args:
        cap: the bound.
    """

    def __init__(self, cap: float):
        super().__init__()
        self.cap = cap

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        """
        Args:
            A: tensor of shape (batch_size, M, K).
            B: tensor of shape (batch_size, K, N).

        Returns:
            Tensor of shape (batch_size, M, N).
        """
        return self.cap * torch.tanh(torch.bmm(A, B) / self.cap)


batch_size = 6
M = 48
K = 60
N = 40
cap = 10.0


def get_inputs():
    return [torch.randn(batch_size, M, K), torch.randn(batch_size, K, N)]


def get_init_inputs():
    return [cap]
