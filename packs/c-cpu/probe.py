"""probe.py: prints how far this machine gets with the pack, by doing it."""
from __future__ import annotations

import ctypes
import importlib.util
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
        import c_cpu
        from compiler import native_compiler
        from shared import native

        request = native.calls(SOURCE, [("probe_kernel", "ppi")])
        built = native_compiler.compile_libraries(request, c_cpu.TOOLCHAIN)
    except Exception as error:
        return f"checks: no kernel can be built: {first_line(error)}"
    given = run(built.partition(b"\n")[2])
    if given != [2.0, 3.0]:
        return f"compile: a kernel ran and gave {given} instead of [2.0, 3.0]"
    if importlib.util.find_spec("torch") is None:
        return "compile: a kernel was built by cc and run, but torch is missing"
    return "run: a kernel was built by cc and run, and torch is there"


def run(library: bytes) -> list[float]:
    x, y = (ctypes.c_float * 2)(4.0, 9.0), (ctypes.c_float * 2)()
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        ctypes.CDLL(file.name).probe_kernel(x, y, 2)
    return list(y)


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


if __name__ == "__main__":
    print(probe())
