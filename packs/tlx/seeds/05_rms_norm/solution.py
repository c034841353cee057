import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def fetch(x_ptr, row, held, arrived, COLUMNS: tl.constexpr):
    BYTES: tl.constexpr = COLUMNS * tlx.size_of(tlx.dtype_of(x_ptr))
    tlx.barrier_expect_bytes(arrived, BYTES)
    tlx.async_load(x_ptr + row.to(tl.int64) * COLUMNS, held, bulk=True, bulk_size=BYTES,
                   barrier=arrived)


@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, rows, eps, COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
                    STAGES: tl.constexpr):
    step = tl.num_programs(0)
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + c, mask=c < COLUMNS, other=0.0).to(tl.float32)
    held = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), STAGES)
    arrived = tlx.alloc_barriers(STAGES)
    for s in tl.static_range(STAGES - 1):
        if row + s * step < rows:
            fetch(x_ptr, row + s * step, held[s], arrived[s], COLUMNS)
    turn = 0
    for r in tl.range(row, rows, step, num_stages=0):
        ahead = r + (STAGES - 1) * step
        if ahead < rows:
            later = (turn + STAGES - 1) % STAGES
            fetch(x_ptr, ahead, held[later], arrived[later], COLUMNS)
        tlx.barrier_wait(arrived[turn % STAGES], (turn // STAGES) & 1)
        x = tlx.local_load(held[turn % STAGES]).to(tl.float32)
        x = tl.where(c < COLUMNS, x, 0.0)
        y = x * tl.rsqrt(tl.sum(x * x, axis=0) / COLUMNS + eps) * w
        tl.store(y_ptr + r.to(tl.int64) * COLUMNS + c, y.to(tlx.dtype_of(y_ptr)),
                 mask=c < COLUMNS)
        turn += 1


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        columns = x.shape[-1]
        rows = x.numel() // columns
        rms_norm_kernel[(min(rows, 132 * 8),)](
            x, self.weight, y, rows, self.eps, COLUMNS=columns,
            BLOCK=triton.next_power_of_2(columns), STAGES=3, num_warps=4,
        )
        return y
