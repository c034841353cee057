"""adapter.py: how the verifier runs this pack's candidates (docs/PACKS.md, "adapter.py").
There is no recorder, so they run beside their inputs and evidence ends at E2.

A recorder would need kernels apart from the candidate's Python. The compiler works by running
that Python; what it makes of it is MLIR, for which there is no list of what is allowed."""

import importlib.metadata
import importlib.util


def prepare(mode: str) -> None:
    """Once, in the zygote. The language is imported in each child: importing it asks the
    driver for the device, which must not happen before a fork."""
    version()
    if importlib.util.find_spec("cutlass") is None:
        raise ImportError("nvidia-cutlass-dsl is installed, but there is no module cutlass")


def child(mode: str) -> None:
    """In each child, after the box: there is nothing to do."""


def version() -> str:
    """PackageNotFoundError, an ImportError, says what is missing."""
    return f"nvidia-cutlass-dsl {importlib.metadata.version('nvidia-cutlass-dsl')}"


def is_compile_error(problem: BaseException) -> bool:
    """What the compiler raises has a class of its own."""
    return any(
        kind.__module__.partition(".")[0] == "cutlass" and kind.__name__.endswith("Error")
        for kind in type(problem).__mro__
    )
