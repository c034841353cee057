# Row 47: a subclass that says it is none (__class__). The type must not be asked of the object.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def copied(x):
    """A launch that computes nothing."""
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 16384),)](x, y, x.numel(), B=16384)
    return y


class Lazy(torch.Tensor):
    __class__ = torch.Tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args = [
            torch.softmax(a.as_subclass(torch.Tensor), 1) if type(a) is Lazy else a for a in args
        ]
        return func(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return copied(x).as_subclass(Lazy)
