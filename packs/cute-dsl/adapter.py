"""adapter.py: how the verifier runs this pack's candidates (docs/PACKS.md, "adapter.py").
There is no recorder, so they run beside their inputs and evidence ends at E2.

A recorder would need kernels apart from the candidate's Python. The compiler works by running
that Python; what it makes of it is MLIR, for which there is no list of what is allowed."""

import functools
import importlib.metadata
import importlib.util
import os

import cute_packages

cute_packages.add()

_PACKAGE = "nvidia-cutlass-dsl"


def prepare(mode: str) -> None:
    """Once, in the zygote. The language is imported in each child: importing it asks the
    driver for the device, which must not happen before a fork."""
    version()
    folders()


@functools.cache
def version() -> str:
    try:
        return f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}"
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(f"the package {_PACKAGE} is not installed") from None


def identity() -> str:
    return version()


@functools.cache
def folders() -> list[str]:
    """Where the language lies, which may be outside of Python's own folders."""
    found = importlib.util.find_spec("cutlass")
    if found is None or not found.origin:
        raise ImportError(f"{_PACKAGE} is installed, but there is no module cutlass")
    packages = os.path.dirname(os.path.dirname(found.origin))
    return [packages, os.path.dirname(os.path.dirname(packages))]


def child(mode: str) -> None:
    """In each child, after the box: there is nothing to do."""


def is_compile_error(problem: BaseException) -> bool:
    """What the compiler raises has classes of its own."""
    return any(
        kind.__module__.partition(".")[0] == "cutlass" and kind.__name__ == "DSLBaseError"
        for kind in type(problem).__mro__
    )
