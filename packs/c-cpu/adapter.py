"""adapter.py: how the verifier records and builds this pack's candidates. Trusted;
called in the zygote and in each child (docs/PACKS.md, "adapter.py")."""

import platform
from collections.abc import Callable

import c_cpu
from compiler import native_compiler
from recorder import native_record
from shared import native
from shared.adapter import Recorder

_WARM = "void warm_kernel(float *x) { x[0] += 1.0f; }\n"


def prepare(mode: str) -> None:
    """Once, in the zygote: what this machine lacks shows now, and children know where
    the headers are."""
    native.preprocess(_WARM, c_cpu.TOOLCHAIN)
    compile(native.calls(_WARM, [("warm_kernel", "p")]))


def child(mode: str) -> None:
    """In each child, after the box: there is nothing to do."""


def version() -> str:
    return f"{native.compiler_version('cc').splitlines()[0]} {platform.machine()}"


def identity() -> str:
    return native_compiler.native_identity(c_cpu.TOOLCHAIN)


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def folders() -> list[str]:
    """Everything lies in the system's folders and in Python's own."""
    return []


def claims() -> str:
    return "cpu"


def install(current: Callable[[], Recorder | None]) -> None:
    native_record.install_native(current)
    c_cpu.recording = True


def compile(request: dict) -> bytes:
    return native_compiler.compile_libraries(request, c_cpu.TOOLCHAIN)
