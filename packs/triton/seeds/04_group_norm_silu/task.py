import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Group normalisation of images with a weight and a bias for each channel, then SiLU.

    Args:
        groups: number of groups.
        channels: channels of the images, a multiple of the groups.
    """

    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, channels, height, width).

        Returns:
            Tensor of the same shape.
        """
        return F.silu(self.norm(x))


batch_size = 5
groups = 4
channels = 12
height = 23
width = 18


def get_inputs():
    return [torch.randn(batch_size, channels, height, width) * 2.0 + 1.0]


def get_init_inputs():
    return [groups, channels]
