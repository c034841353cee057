"""probe.py: prints how far this machine gets with the pack, by doing it."""
from __future__ import annotations

import os
import tempfile

SOURCE = """
#include <math.h>
void probe_kernel(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = sqrtf(x[i]);
}
"""


def probe() -> str:
    try:
        from c_cpu import build

        lib = build(SOURCE)
    except Exception as error:
        return f"checks: no kernel can be built: {first_line(error)}"
    try:
        import torch
    except ImportError as error:
        return f"compile: kernels build, but torch is missing: {first_line(error)}"
    x, y = torch.tensor([4.0, 9.0]), torch.empty(2)
    lib.probe_kernel(x, y, 2)
    if y.tolist() != [2.0, 3.0]:
        return f"compile: a kernel ran and gave {y.tolist()} instead of [2.0, 3.0]"
    return f"run: a kernel was built by cc and run under torch {torch.__version__}"


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MONKEYS_C_CACHE"] = folder
        print(probe())
