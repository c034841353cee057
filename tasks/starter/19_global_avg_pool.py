import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Mean of each channel of an image over its height and width.
    """

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, channels, height, width).

        Returns:
            Tensor of shape (batch_size, channels).
        """
        return x.mean(dim=(2, 3))


batch_size = 8
channels = 30
height = 14
width = 15


def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs():
    return []
