import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Softmax over the last dimension, made flatter or sharper by a temperature.

    Args:
        temperature: what the scores are divided by.
    """

    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, num_scores).

        Returns:
            Tensor of the same shape; its rows sum to one.
        """
        return torch.softmax(x / self.temperature, dim=-1)


batch_size = 8190
num_scores = 2000
temperature = 0.7


def get_inputs():
    return [torch.randn(batch_size, num_scores)]


def get_init_inputs():
    return [temperature]
