import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Gated linear attention with one gate per head, in its parallel form: causal scores, each times
    the product of the decays between key and query.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor
    ) -> torch.Tensor:
        """
        Args:
            q, k, v: tensors of shape (B, T, H, D).
            g: tensor of shape (B, T, H), at most 0: the logarithm of the decay.

        Returns:
            Tensor of shape (B, T, H, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        q = (q.to(wide) * q.shape[-1] ** -0.5).transpose(1, 2)
        k, v = k.to(wide).transpose(1, 2), v.to(wide).transpose(1, 2)
        total = g.to(wide).cumsum(1).transpose(1, 2)
        decay = (total[..., :, None] - total[..., None, :]).tril().exp().tril()
        scores = q @ k.transpose(-1, -2)
        return ((scores * decay) @ v).transpose(1, 2).to(dtype)


B = 4  # batch
H = 8  # heads
T = 2048  # steps
D = 64  # width of a head


def get_inputs():
    q, k, v = torch.randn(B, T, H, D), torch.randn(B, T, H, D), torch.randn(B, T, H, D)
    g = torch.nn.functional.logsigmoid(torch.randn(B, T, H))
    return [q, k, v, g]


def get_init_inputs():
    return []
