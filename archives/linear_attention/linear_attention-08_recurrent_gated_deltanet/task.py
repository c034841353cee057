import torch
import torch.nn as nn


class Model(nn.Module):
    """
    The gated delta rule, step by step: the state decays, the value stored under the key is moved
    towards the new one, and the query reads it.
    """

    def __init__(self):
        super().__init__()

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor, g: torch.Tensor
    ) -> torch.Tensor:
        """
        Args:
            q, k: tensors of shape (B, T, H, D); vectors of length 1.
            v: tensor of shape (B, T, H, D).
            beta: tensor of shape (B, T, H), between 0 and 1: how much of a value is replaced.
            g: tensor of shape (B, T, H), at most 0: the logarithm of the decay.

        Returns:
            Tensor of shape (B, T, H, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        batch, steps, heads, width = q.shape
        q, k, v = q.to(wide) * width**-0.5, k.to(wide), v.to(wide)
        beta, decay = beta.to(wide), g.to(wide).exp()
        state = torch.zeros(batch, heads, width, v.shape[-1], device=q.device, dtype=wide)
        out = []
        for t in range(steps):
            state = state * decay[:, t, :, None, None]
            stored = (k[:, t, :, None, :] @ state).squeeze(-2)
            update = beta[:, t, :, None] * (v[:, t] - stored)
            state = state + k[:, t, :, :, None] * update[:, :, None, :]
            out.append((q[:, t, :, None, :] @ state).squeeze(-2))
        return torch.stack(out, 1).to(dtype)


B = 4  # batch
H = 8  # heads
T = 512  # steps
D = 64  # width of a head


def get_inputs():
    q = torch.nn.functional.normalize(torch.randn(B, T, H, D), dim=-1)
    k = torch.nn.functional.normalize(torch.randn(B, T, H, D), dim=-1)
    v = torch.randn(B, T, H, D) * D  # outputs of order 1
    beta = torch.randn(B, T, H).sigmoid()
    g = torch.nn.functional.logsigmoid(torch.randn(B, T, H))
    return [q, k, v, beta, g]


def get_init_inputs():
    return []
