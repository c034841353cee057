import torch
import torch.nn as nn
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def silu_gate(gate, value, dtype: tl.constexpr):
    gate = gate.to(tl.float32)
    return (gate / (1.0 + tl.exp(-gate)) * value.to(tl.float32)).to(dtype)


@triton.jit
def silu_gate_kernel(gate_ptr, value_ptr, y_ptr, n, BLOCK: tl.constexpr, TILES: tl.constexpr):
    dtype: tl.constexpr = tlx.dtype_of(y_ptr)
    first = tl.program_id(0).to(tl.int64) * (BLOCK * TILES)
    lane = tl.arange(0, BLOCK)
    gates = tlx.local_alloc((BLOCK,), tlx.dtype_of(gate_ptr), TILES)
    values = tlx.local_alloc((BLOCK,), tlx.dtype_of(value_ptr), TILES)
    arrived = tlx.alloc_barriers(TILES)
    BYTES: tl.constexpr = 2 * BLOCK * tlx.size_of(tlx.dtype_of(gate_ptr))
    for t in tl.static_range(TILES):
        start = first + t * BLOCK
        if start + BLOCK <= n:  # whole tiles alone: a bulk copy has no mask
            tlx.barrier_expect_bytes(arrived[t], BYTES)
            tlx.async_load(gate_ptr + start, gates[t], bulk=True, barrier=arrived[t])
            tlx.async_load(value_ptr + start, values[t], bulk=True, barrier=arrived[t])
    for t in tl.static_range(TILES):
        start = first + t * BLOCK
        i = start + lane
        if start + BLOCK <= n:
            tlx.barrier_wait(arrived[t], 0)
            y = silu_gate(tlx.local_load(gates[t]), tlx.local_load(values[t]), dtype)
            tl.store(y_ptr + i, y)  # without a mask a thread writes 16 bytes at once
        else:
            gate = tl.load(gate_ptr + i, mask=i < n, other=0.0)
            value = tl.load(value_ptr + i, mask=i < n, other=0.0)
            tl.store(y_ptr + i, silu_gate(gate, value, dtype), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        gate, value = gate.contiguous(), value.contiguous()
        y = torch.empty_like(gate)
        n = gate.numel()
        grid = (triton.cdiv(n, 1024 * 4),)
        silu_gate_kernel[grid](gate, value, y, n, BLOCK=1024, TILES=4, num_warps=4)
        return y
