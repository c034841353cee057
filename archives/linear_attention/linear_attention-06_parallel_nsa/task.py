import torch
import torch.nn as nn


class Model(nn.Module):
    """
    The selection branch of native sparse attention: each query attends, causally, to the keys of
    the blocks that are chosen for it. Several query heads share a head of keys and values.
    """

    def __init__(self, block: int):
        super().__init__()
        self.block = block

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block_indices: torch.Tensor
    ) -> torch.Tensor:
        """
        Args:
            q: tensor of shape (B, T, G * H, D).
            k, v: tensors of shape (B, T, H, D); T is a multiple of the block.
            block_indices: for each step and head of k the chosen blocks, of shape (B, T, H, S):
                different numbers, -1 for no block. One of them is at most the query's own.

        Returns:
            Tensor of shape (B, T, G * H, D) in the dtype of q; computed in float32 at least.
        """
        dtype = q.dtype
        wide = torch.promote_types(dtype, torch.float32)
        batch, steps, query_heads, width = q.shape
        heads, blocks = k.shape[2], steps // self.block
        q = (q.to(wide) * width**-0.5).reshape(batch, steps, heads, -1, width)
        k, v = k.to(wide), v.to(wide)

        # One more block takes what is not chosen.
        chosen = block_indices.long()
        chosen = torch.where(chosen < 0, blocks, chosen)
        mask = torch.zeros(
            batch, steps, heads, blocks + 1, dtype=torch.bool, device=q.device
        ).scatter(-1, chosen, True)[..., :blocks]
        mask = mask.repeat_interleave(self.block, -1).transpose(1, 2).tril()

        scores = torch.einsum("bihgd,bjhd->bhgij", q, k)
        scores = scores.masked_fill(~mask[:, :, None], float("-inf"))
        out = torch.einsum("bhgij,bjhd->bihgd", torch.softmax(scores, -1), v)
        return out.reshape(batch, steps, query_heads, width).to(dtype)


B = 4  # batch
H = 1  # heads of keys and values
G = 16  # query heads for each of them
T = 2048  # steps
D = 64  # width of a head
S = 2  # blocks that a query may choose
C = 64  # steps in a block

if T % C:
    raise ValueError(f"T = {T} is not a multiple of the block, C = {C}")


def get_block_indices():
    """Random blocks up to the query's own, sorted; -1 fills up what is left."""
    blocks = T // C
    last = (torch.arange(T) // C)[:, None, None]
    chance = torch.rand(B, T, H, blocks).masked_fill(torch.arange(blocks) > last, -1)
    best = chance.topk(min(S, blocks), -1)
    chosen = torch.where(best.values < 0, blocks, best.indices).sort(-1).values
    chosen = torch.where(chosen == blocks, -1, chosen)
    return torch.nn.functional.pad(chosen, (0, S - chosen.shape[-1]), value=-1)


def get_inputs():
    q = torch.randn(B, T, G * H, D)
    k = torch.randn(B, T, H, D)
    v = torch.randn(B, T, H, D)
    return [q, k, v, get_block_indices()]


def get_init_inputs():
    return [C]
