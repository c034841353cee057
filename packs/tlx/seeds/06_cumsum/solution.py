import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr,
                  STAGES: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    at = r.to(tl.int64)[:, None] * columns + c[None, :]
    held = tlx.local_alloc((ROWS, BLOCK), tlx.dtype_of(x_ptr), STAGES)
    for s in tl.static_range(STAGES - 1):
        mask = (r < rows)[:, None] & (s * BLOCK + c < columns)[None, :]
        token = tlx.async_load(x_ptr + at + s * BLOCK, held[s], mask=mask)
        tlx.async_load_commit_group([token])
    carry = tl.zeros((ROWS,), tl.float32)
    for t in tl.range(0, tl.cdiv(columns, BLOCK), num_stages=0):
        ahead = t + STAGES - 1
        mask = (r < rows)[:, None] & (ahead * BLOCK + c < columns)[None, :]
        token = tlx.async_load(x_ptr + at + ahead * BLOCK, held[ahead % STAGES], mask=mask)
        tlx.async_load_commit_group([token])
        tlx.async_load_wait_group(STAGES - 1)
        mask = (r < rows)[:, None] & (t * BLOCK + c < columns)[None, :]
        x = tlx.local_load(held[t % STAGES]).to(tl.float32)
        y = tl.cumsum(x, axis=1) + carry[:, None]
        tl.store(y_ptr + at + t * BLOCK, y.to(tlx.dtype_of(y_ptr)), mask=mask)
        carry += tl.sum(x, axis=1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        cumsum_kernel[(triton.cdiv(rows, 4),)](
            x, y, rows, columns, ROWS=4, BLOCK=1024, STAGES=3, num_warps=4
        )
        return y
