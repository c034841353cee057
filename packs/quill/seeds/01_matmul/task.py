import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Multiplies two matrices: C = A * B.
    """

    def __init__(self):
        super(Model, self).__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        """
        Args:
            A: matrix of shape (M, K).
            B: matrix of shape (K, N).

        Returns:
            Matrix of shape (M, N).
        """
        return torch.matmul(A, B)


M = 130
K = 300
N = 94


def get_inputs():
    return [torch.rand(M, K), torch.rand(K, N)]


def get_init_inputs():
    return []
