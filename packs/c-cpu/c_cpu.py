"""c_cpu.py: what candidates import to turn C source into functions.

    from c_cpu import build
    lib = build(SOURCE)
    lib.relu_kernel(x, y, x.numel())

The work is done by worker/recorder/native_record.py, which lies at the same place beside packs/
in a source tree and in an installation; this file says how C is compiled.
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

from recorder import native_record  # noqa: E402
from shared import native  # noqa: E402

__all__ = ["build", "recording"]

recording = False  # by adapter.py; nothing is computed here in any process

# The same source gives the same instructions on every machine of an architecture:
# nothing here looks at the CPU it runs on (no -march=native), and no rule of
# floating-point arithmetic is given up (no -ffast-math). What C leaves open is the same, too: a
# variable that was never set has a value, and the stack has no number of its own for each process. The
# functions of the machine's headers are declared there, and not defined.
_FLAGS = (
    "-std=c11 -D_DEFAULT_SOURCE -Dtypeof=__typeof__ -O3 -fPIC -ffp-contract=on -fno-math-errno -fno-trapping-math "
    "-fno-strict-aliasing -ftrivial-auto-var-init=pattern -fno-stack-protector -U_FORTIFY_SOURCE "
    "-D__NO_INLINE__ -Wall -Wno-unused-function -Wno-unknown-pragmas "
    "-Werror=implicit-function-declaration -Werror=implicit-int -Werror=int-conversion "
    "-Werror=incompatible-pointer-types -Werror=return-type"
)

TOOLCHAIN = native.Toolchain(
    compiler=("cc",),
    flags=tuple(_FLAGS.split()),
    timeout_s=50,
)


def build(source: str) -> native_record.Library:
    """The functions of C source, as attributes of the result."""
    return native_record.library(source, TOOLCHAIN, "cpu")
