"""Persistent programs: the grid is the number of multiprocessors, asked of the
driver; asm and extern words stand only in this docstring:
tl.inline_asm_elementwise, extern_elementwise, triton.knobs, kernel.fn."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        tl.store(y_ptr + i, x * x, mask=i < n)


def programs(device):
    if device.type != "cuda":
        return 4
    props = triton.runtime.driver.active.utils.get_device_properties(device.index)
    return props["multiprocessor_count"]


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        square_kernel[(programs(x.device),)](x, y, x.numel(), BLOCK=256)
        return y
