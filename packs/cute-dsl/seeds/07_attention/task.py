import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Attention of every query to all keys."""

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """
        Args:
            q: tensor of shape (batch_size, num_heads, num_queries, head_dim).
            k: tensor of shape (batch_size, num_heads, num_keys, head_dim).
            v: tensor of the shape of k.

        Returns:
            Tensor of the shape of q.
        """
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        return torch.matmul(torch.softmax(scores, dim=-1), v)


batch_size = 2
num_heads = 12
num_queries = 1000
num_keys = 1500
head_dim = 64


def get_inputs():
    q = torch.randn(batch_size, num_heads, num_queries, head_dim)
    k = torch.randn(batch_size, num_heads, num_keys, head_dim)
    v = torch.randn(batch_size, num_heads, num_keys, head_dim)
    return [q, k, v]


def get_init_inputs():
    return []
