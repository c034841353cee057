"""The launch depends on what the device says of itself."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        assert torch.cuda.is_available() and x.is_cuda
        props = torch.cuda.get_device_properties(x.device)
        major, minor = torch.cuda.get_device_capability(x.device)
        programs = min(props.multi_processor_count, triton.cdiv(x.numel(), 256))
        block = triton.next_power_of_2(triton.cdiv(x.numel(), programs))
        y = torch.empty_like(x)
        warps = 4 if (major, minor) < (9, 0) else 8
        with torch.cuda.device(x.device):
            silu_kernel[(triton.cdiv(x.numel(), block),)](
                x, y, x.numel(), B=block, num_warps=warps, num_stages=2
            )
        return y
