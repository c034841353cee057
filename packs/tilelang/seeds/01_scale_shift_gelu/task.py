import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Scales and shifts each channel of a batch of images and applies GELU.

    Args:
        channels: channels of the images.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(channels, 1, 1) + 0.5)
        self.shift = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, channels, height, width).

        Returns:
            Tensor of the same shape.
        """
        return F.gelu(x * self.scale + self.shift)


batch_size = 16
channels = 96
height = 60
width = 58


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels]
