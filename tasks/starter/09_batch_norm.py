import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Batch normalisation of images in training: the statistics are those of the batch,
    and the running statistics move towards them.

    Args:
        channels: channels of the input.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, channels, height, width).

        Returns:
            Tensor of the same shape.
        """
        return self.norm(x)


batch_size = 8
channels = 20
height = 14
width = 13


def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels]
