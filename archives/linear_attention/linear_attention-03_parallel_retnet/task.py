import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Retention in its parallel form: causal linear attention in which head h forgets by the factor
    1 - 2^(-5-h) per step. There is no normaliser.
    """

    def __init__(self):
        super().__init__()

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """
        Args:
            q, k, v: tensors of shape (B, H, T, D).

        Returns:
            Tensor of shape (B, H, T, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        q, k, v = q.to(wide), k.to(wide), v.to(wide)
        heads = torch.arange(q.shape[1], device=q.device, dtype=wide)
        log_gamma = torch.log2(1 - torch.exp2(-5 - heads))
        steps = torch.arange(q.shape[2], device=q.device, dtype=wide)
        distance = (steps[:, None] - steps[None, :]).clamp_min(0)
        decay = torch.exp2(distance * log_gamma[:, None, None]).tril()
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
        return ((scores * decay) @ v).to(dtype)


B = 4  # batch
H = 8  # heads
T = 2048  # steps
D = 64  # width of a head


def get_inputs():
    # Outputs of order 1 for every T.
    return [torch.randn(B, H, T, D), torch.randn(B, H, T, D), torch.randn(B, H, T, D) * T**-0.5]


def get_init_inputs():
    return []
