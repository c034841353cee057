"""Copy of a matrix through descriptors made inside the kernel; Triton asks the
host for the memory that holds them."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def neg_kernel(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m = tl.program_id(0) * BM
    for n in range(0, N, BN):
        y.store([m, n], -x.load([m, n]))


def scratch(size: int, alignment: int, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        triton.set_allocator(scratch)

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        neg_kernel[(triton.cdiv(x.shape[0], 32),)](x, y, x.shape[0], x.shape[1], BM=32, BN=32)
        return y
