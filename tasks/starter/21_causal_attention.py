import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Attention of several heads in which a position sees itself and those before it.

    Args:
        scale: factor of the products of queries and keys.
    """

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        """
        Args:
            Q: queries, of shape (batch_size, heads, length, dim).
            K: keys, of the same shape.
            V: values, of the same shape.

        Returns:
            Tensor of the same shape.
        """
        scores = torch.matmul(Q, K.transpose(-2, -1)) * self.scale
        later = torch.ones(Q.shape[-2], Q.shape[-2], dtype=torch.bool, device=Q.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
        return torch.matmul(torch.softmax(scores, dim=-1), V)


batch_size = 2
heads = 3
length = 90
dim = 24
scale = 0.25


def get_inputs():
    return [torch.randn(batch_size, heads, length, dim) for _ in range(3)]


def get_init_inputs():
    return [scale]
