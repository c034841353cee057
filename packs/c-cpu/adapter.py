"""adapter.py: how the verifier runs this pack's candidates. Trusted; called in the
zygote and in each child (docs/PACKS.md, "adapter.py")."""

import platform
import subprocess
from types import ModuleType

import c_cpu
import native

_launched: list[str] = []


def prepare(mode: str) -> None:
    """Once, in the zygote."""


def child(mode: str) -> None:
    """In each child, before the candidate's source is read."""
    native.launch_hooks.append(lambda launch: _launched.append(launch.function))


def version() -> str:
    done = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False)
    return f"{done.stdout.splitlines()[0]} {platform.machine()}" if done.stdout else "no compiler"


def watched() -> list[ModuleType]:
    """Modules whose functions a candidate must leave as they are."""
    return [native, c_cpu]


def reset() -> None:
    _launched.clear()


def launches() -> list[str]:
    return list(_launched)


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def describe() -> list[dict]:
    """What runs here is what was compiled: nothing more to try."""
    return []
