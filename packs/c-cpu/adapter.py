"""adapter.py: how the verifier runs this pack's candidates. Trusted; called in the
zygote and in each child (docs/PACKS.md, "adapter.py")."""

import platform
import subprocess
import sys
from types import ModuleType

import c_cpu
import native
import native_adapter
from native_adapter import (  # noqa: F401 - of the interface
    child,
    describe,
    is_compile_error,
    launches,
    mute,
    reset,
)


def prepare(mode: str) -> None:
    """Once, in the zygote: children then know which compiler they have. There is no
    `toolchain` here: C compiles in less time than another process takes to start."""
    native.identity(c_cpu.TOOLCHAIN)


def version() -> str:
    done = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False)
    return f"{done.stdout.splitlines()[0]} {platform.machine()}" if done.stdout else "no compiler"


def watched() -> list[ModuleType | type]:
    """What a candidate must leave as it is."""
    return [native, native.Library, native_adapter, c_cpu, sys.modules[__name__]]
