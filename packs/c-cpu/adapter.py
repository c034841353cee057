"""adapter.py: how the verifier runs this pack's candidates. Trusted; called in the
zygote and in each child (docs/PACKS.md, "adapter.py")."""

import platform
import subprocess
import sys
from types import ModuleType

import c_cpu
import native

_launched: list[str] = []
_muted: list[bool] = []  # not empty: launches are counted and do nothing


def prepare(mode: str) -> None:
    """Once, in the zygote."""


def child(mode: str) -> None:
    """In each child, before the candidate's source is read."""
    native.launch_hooks.append(_on_launch)


def _on_launch(launch: native.Launch) -> bool:
    _launched.append(launch.function)
    return not _muted


def version() -> str:
    done = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False)
    return f"{done.stdout.splitlines()[0]} {platform.machine()}" if done.stdout else "no compiler"


def watched() -> list[ModuleType | type]:
    """What a candidate must leave as it is."""
    return [native, native.Library, c_cpu, sys.modules[__name__]]


def reset() -> None:
    _launched.clear()


def launches() -> list[str]:
    return list(_launched)


def mute() -> bool:
    """From now on kernels do nothing; False where that cannot be done."""
    _muted.append(True)
    return True


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def describe() -> list[dict]:
    """What runs here is what was compiled: nothing more to try."""
    return []
