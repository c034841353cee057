import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

THREADS = 256


@cute.jit
def gated(gate, value):
    """silu(gate) * value, for vectors and for single numbers."""
    return gate / (1.0 + cute.math.exp(-gate)) * value


@cute.kernel
def silu_gate_kernel(gate: cute.Tensor, value: cute.Tensor, y: cute.Tensor,
                     VECTOR: cutlass.Constexpr):
    first = (cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]) * VECTOR
    n = cute.size(y)
    if first + VECTOR <= n:
        at = cute.assume(first, divby=VECTOR)
        own = cute.make_layout(VECTOR)
        g = cute.make_tensor(gate.iterator + at, own).load().to(cutlass.Float32)
        v = cute.make_tensor(value.iterator + at, own).load().to(cutlass.Float32)
        cute.make_tensor(y.iterator + at, own).store(gated(g, v).to(y.element_type))
    else:
        for i in cutlass.range_constexpr(VECTOR):
            if first + i < n:
                g = gate[first + i].to(cutlass.Float32)
                v = value[first + i].to(cutlass.Float32)
                y[first + i] = gated(g, v).to(y.element_type)


@cute.jit
def silu_gate(gate: cute.Tensor, value: cute.Tensor, y: cute.Tensor):
    vector = 128 // y.element_type.width
    blocks = cute.ceil_div(cute.size(y), THREADS * vector)
    silu_gate_kernel(gate, value, y, vector).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        gate, value = gate.contiguous(), value.contiguous()
        y = torch.empty_like(gate)
        tensors = [from_dlpack(t.view(-1), assumed_align=16) for t in (gate, value, y)]
        key = (gate.numel(), gate.dtype)
        if key not in self.compiled:
            self.compiled[key] = cute.compile(silu_gate, *tensors)
        self.compiled[key](*tensors)
        return y
