import torch
import torch.nn as nn


class Model(nn.Module):
    """
    The delta rule in its parallel form. Within each block a triangular system turns keys and values
    into those of a sum of outer products; then every block of queries reads its own block and all
    earlier ones, from right to left. Blocks do not wait for each other.
    """

    def __init__(self, block: int):
        super().__init__()
        self.block = block

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor
    ) -> torch.Tensor:
        """
        Args:
            q, k: tensors of shape (B, H, T, D); vectors of length 1. T is a multiple of the block.
            v: tensor of shape (B, H, T, D).
            beta: tensor of shape (B, H, T), between 0 and 1: how much of a value is replaced.

        Returns:
            Tensor of shape (B, H, T, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        batch, heads, steps, width = q.shape
        count = steps // self.block
        parts = (batch, heads, count, self.block, width)
        q = (q.to(wide) * width**-0.5).reshape(parts)
        k, v = k.to(wide).reshape(parts), v.to(wide).reshape(parts)
        beta = beta.to(wide).reshape(batch, heads, count, self.block, 1)

        # (I + tril(beta K K^T, -1)) X = beta K, and the same for V.
        weighted = beta * k
        system = (weighted @ k.transpose(-1, -2)).tril(-1)
        solve = torch.linalg.solve_triangular
        new_k = solve(system, weighted, upper=False, unitriangular=True)
        new_v = solve(system, beta * v, upper=False, unitriangular=True)

        # Each block's own, then the one before it, and so on; the first active block is done.
        scores = (q @ k.transpose(-1, -2)).tril()
        read, out = scores @ new_v, []
        q = q - scores @ new_k
        for last in range(count - 1, 0, -1):
            out.append(read[:, :, :1])
            read, q = read[:, :, 1:], q[:, :, 1:]
            scores = q @ k[:, :, :last].transpose(-1, -2)
            read = read + scores @ new_v[:, :, :last]
            q = q - scores @ new_k[:, :, :last]
        out.append(read)
        return torch.cat(out, 2).reshape(batch, heads, steps, width).to(dtype)


B = 4  # batch
H = 8  # heads
T = 2048  # steps
D = 64  # width of a head
C = 32  # steps in a block

if T % C:
    raise ValueError(f"T = {T} is not a multiple of the block, C = {C}")


def get_inputs():
    q = torch.nn.functional.normalize(torch.randn(B, H, T, D), dim=-1)
    k = torch.nn.functional.normalize(torch.randn(B, H, T, D), dim=-1)
    v = torch.randn(B, H, T, D) * D**0.5  # outputs of order 1
    beta = torch.randn(B, H, T).sigmoid()
    return [q, k, v, beta]


def get_init_inputs():
    return [C]
