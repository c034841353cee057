import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Mean of each window of an image; the zeros of the border count.

    Args:
        kernel_size: height and width of the window.
        stride: step of the window.
        padding: zeros added on each side.
    """

    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.AvgPool2d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, channels, height, width).

        Returns:
            Tensor of shape (batch_size, channels, out_height, out_width).
        """
        return self.pool(x)


batch_size = 2
channels = 12
height = 31
width = 36
kernel_size = 4
stride = 3
padding = 1


def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs():
    return [kernel_size, stride, padding]
