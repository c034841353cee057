import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Softmax over the features of each row.
    """

    def __init__(self):
        super(Model, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x: tensor of shape (batch_size, num_features).

        Returns:
            Tensor of the same shape; each row sums to one.
        """
        return torch.softmax(x, dim=1)


batch_size = 32
dim = 1000


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
