"""c_cpu.py: what candidates import to turn C source into functions.

    from c_cpu import build
    lib = build(SOURCE)
    lib.relu_kernel(x, y, x.numel())

The work is done by worker/native.py, which lies at the same place beside packs/ in
a source tree and in an installation; this file says which compiler is used and
what a kernel may contain.
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

import native  # noqa: E402

__all__ = ["build"]

# The same source gives the same instructions on every machine of an architecture:
# nothing here looks at the CPU it runs on (no -march=native), and no rule of
# floating-point arithmetic is given up (no -ffast-math).
_COMPILE_FLAGS = (
    "-std=c11 -D_DEFAULT_SOURCE -O3 -fPIC -ffp-contract=on -fno-math-errno -fno-trapping-math "
    "-fno-strict-aliasing -Wall -Wno-unused-function -Wno-unknown-pragmas "
    "-Werror=implicit-function-declaration -Werror=implicit-int -Werror=int-conversion "
    "-Werror=incompatible-pointer-types -Werror=return-type"
)
# No start files: they bring code that runs at loading time. One hash style, so that
# the symbols can be counted. Constants apart from code, so that data never runs.
_LINK_FLAGS = (
    "-shared -nostartfiles -Wl,--hash-style=sysv -Wl,-z,now -Wl,-z,separate-code "
    "-Wl,-Bsymbolic -Wl,--as-needed -lm"
)
_MEMORY = "memcpy memmove memset memcmp malloc calloc realloc aligned_alloc free qsort".split()

TOOLCHAIN = native.Toolchain(
    compiler=("cc",),
    compile_flags=tuple(_COMPILE_FLAGS.split()),
    link_flags=tuple(_LINK_FLAGS.split()),
    symbols=native.MATH_SYMBOLS | native.HARDENING_SYMBOLS | set(_MEMORY),
    symbols_note=(
        "a kernel may call its own functions, the functions of math.h for float and double, and "
        + ", ".join(_MEMORY)
    ),
    headers=frozenset(
        "float.h limits.h math.h stdalign.h stdbool.h stddef.h stdint.h stdlib.h string.h".split()
    ),
    libraries=native.LOADER_LIBRARIES,
    cache_variable="MONKEYS_C_CACHE",
    timeout_s=60,
)


def build(source: str) -> native.Library:
    """Compiles C source and loads it; its functions are the result's attributes."""
    return native.build(source, TOOLCHAIN)
