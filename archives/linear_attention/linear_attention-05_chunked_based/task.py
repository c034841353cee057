import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Based linear attention in chunks. Within a chunk the weights 1 + x + x^2/2 are computed as they
    are; earlier chunks are summed up as moments of keys and values of order 0, 1 and 2.
    """

    def __init__(self, chunk: int):
        super().__init__()
        self.chunk = chunk

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """
        Args:
            q, k: tensors of shape (B, H, T, K); T is a multiple of the chunk.
            v: tensor of shape (B, H, T, V).

        Returns:
            Tensor of shape (B, H, T, V) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        batch, heads, steps, width = q.shape
        count = steps // self.chunk
        q = (q.to(wide) * width**-0.5).reshape(batch, heads, count, self.chunk, width)
        k = k.to(wide).reshape(batch, heads, count, self.chunk, width)
        v = v.to(wide).reshape(batch, heads, count, self.chunk, v.shape[-1])

        # Within a chunk.
        x = q @ k.transpose(-1, -2)
        weight = (1 + x + x * x / 2).tril()
        out = weight @ v
        total = weight.sum(-1, keepdim=True)

        # From all earlier chunks: features [1, x, x (x) x / sqrt 2] of queries and keys.
        phi_q, phi_k = self.features(q), self.features(k)
        state = (phi_k.transpose(-1, -2) @ v).cumsum(2)
        norm = phi_k.sum(3, keepdim=True).cumsum(2)
        state = torch.cat([torch.zeros_like(state[:, :, :1]), state[:, :, :-1]], 2)
        norm = torch.cat([torch.zeros_like(norm[:, :, :1]), norm[:, :, :-1]], 2)
        out = out + phi_q @ state
        total = total + (phi_q * norm).sum(-1, keepdim=True)
        return (out / (total + 1e-6)).reshape(batch, heads, steps, -1).to(dtype)

    def features(self, x: torch.Tensor) -> torch.Tensor:
        square = (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2) * 0.5**0.5
        return torch.cat([torch.ones_like(x[..., :1]), x, square], -1)


B = 4  # batch
H = 8  # heads
T = 2048  # steps
K = 16  # width of queries and keys
V = 64  # width of values
C = 256  # steps in a chunk

if T % C:
    raise ValueError(f"T = {T} is not a multiple of the chunk, C = {C}")


def get_inputs():
    return [torch.randn(B, H, T, K), torch.randn(B, H, T, K), torch.randn(B, H, T, V)]


def get_init_inputs():
    return [C]
