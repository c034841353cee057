import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Attention over several heads; queries and keys may differ in number.
    """

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """
        Args:
            q: tensor of shape (batch_size, heads, queries, size).
            k, v: tensors of shape (batch_size, heads, keys, size).

        Returns:
            Tensor of the shape of q.
        """
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        return torch.matmul(torch.softmax(scores, dim=-1), v)


batch_size = 4
heads = 6
queries = 500
keys = 777
size = 64


def get_inputs():
    q = torch.randn(batch_size, heads, queries, size)
    k = torch.randn(batch_size, heads, keys, size)
    v = torch.randn(batch_size, heads, keys, size)
    return [q, k, v]


def get_init_inputs():
    return []
