import torch
import torch.nn as nn


class Model(nn.Module):
    """A convolution of each channel with a kernel of its own."""

    def __init__(self, channels: int, kernel_size: int, dilation: int):
        super().__init__()
        self.conv = nn.Conv1d(
            channels, channels, kernel_size, dilation=dilation, groups=channels, bias=False
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(6, 20, 310)]


def get_init_inputs():
    return [20, 5, 3]
