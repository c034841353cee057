"""As many programs as the device has processors; each goes round the tiles."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

INV_SQRT2 = tl.constexpr(0.7071067811865476)


@triton.jit
def persistent_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, M, D,
    PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr = 32,
):
    tiles_n = tl.cdiv(D, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS):
        m = (tile // tiles_n) * BM + tl.arange(0, BM)
        n = (tile % tiles_n) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for start in range(0, D, BK):
            k = start + tl.arange(0, BK)
            x = tl.load(
                x_ptr + m[:, None] * D + k[None, :],
                mask=(m[:, None] < M) & (k[None, :] < D), other=0.0,
            )
            w = tl.load(
                w_ptr + n[:, None] * D + k[None, :],
                mask=(n[:, None] < D) & (k[None, :] < D), other=0.0,
            )
            acc = tl.dot(x, tl.trans(w), acc, input_precision="ieee")
        acc += tl.load(bias_ptr + n, mask=n < D, other=0.0)[None, :]
        acc *= 0.5 * (1.0 + tl.erf(acc * INV_SQRT2))
        at = m[:, None] * D + n[None, :]
        mask = (m[:, None] < M) & (n[None, :] < D)
        tl.store(y_ptr + at, acc + tl.load(x_ptr + at, mask=mask, other=0.0), mask=mask)


def processors(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).multi_processor_count
    return 3


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        M, D = x.shape
        y = torch.empty_like(x)
        count = processors(x.device)
        persistent_kernel[(count,)](
            x, self.linear.weight, self.linear.bias, y, M, D, PROGRAMS=count, BM=64, BN=32
        )
        return y
