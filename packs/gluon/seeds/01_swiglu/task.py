import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Gated activation: SiLU of one tensor times another.
    """

    def __init__(self):
        super().__init__()

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        """
        Args:
            gate: tensor of any shape.
            up: tensor of the same shape.

        Returns:
            Tensor of the same shape.
        """
        return F.silu(gate) * up


batch_size = 2000
features = 4100


def get_inputs():
    return [torch.randn(batch_size, features), torch.randn(batch_size, features)]


def get_init_inputs():
    return []
