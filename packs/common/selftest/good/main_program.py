# What a file does as the main program, it never does here: it is imported.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        launch_kernel(x, out)
        return out


if __name__ == "__main__":
    import sys
    import time

    x = torch.randn(64, 64)
    start = time.perf_counter()
    try:
        torch.testing.assert_close(ModelNew()(x), torch.softmax(x @ x, -1).relu())
    except AssertionError:
        sys.exit(1)
    print(time.perf_counter() - start)
