import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Convolution of a batch of images, with bias, scaled by a factor for each output channel.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: height and width of the window.
        stride: step of the window.
        padding: zeros on each side.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
    ):
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding
        )
        self.scale = nn.Parameter(torch.rand(out_channels, 1, 1) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, in_channels, height, width).

        Returns:
            Tensor of shape (batch_size, out_channels, out_height, out_width).
        """
        return self.conv(x) * self.scale


batch_size = 8
in_channels = 48
out_channels = 104
height = 41
width = 45
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
