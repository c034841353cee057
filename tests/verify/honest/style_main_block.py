"""A file that is also a program: it measures itself."""

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
        y = torch.empty_like(x)
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), B=256)
        return y


def main():
    x = torch.randn(4096, 4096, device="cuda")
    model = ModelNew().cuda()
    assert torch.allclose(model(x), torch.nn.functional.silu(x), atol=1e-5)
    print(triton.testing.do_bench(lambda: model(x)))


if __name__ == "__main__":
    main()
