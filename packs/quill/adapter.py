"""adapter.py: how the verifier records and builds this pack's candidates. Trusted;
called in the zygote and in each child (docs/PACKS.md, "adapter.py")."""

import platform
from collections.abc import Callable

import quill
import quill_c
import quill_read
from compiler import native_compiler
from recorder import native_record
from shared import native
from shared.adapter import Recorder
from shared.translation import Translated, translated

_WARM = """\
scroll warm(well xs: f32[nn], basin ys: f32[nn], count nn)
    letters i = 4
    pour xs[i] -> tt
    pour tt + 1 -> ys[i]
end
"""


def prepare(mode: str) -> None:
    """Once, in the zygote: what this machine lacks shows now."""
    compile(translated(native.calls(_WARM, [("warm", "ppi")]), translate))


def child(mode: str) -> None:
    """In each child, after the box: there is nothing to do."""


def version() -> str:
    return f"quill 1, {native.compiler_version('cc').splitlines()[0]} {platform.machine()}"


def identity() -> str:
    """The files of this folder count by themselves."""
    return native_compiler.native_identity(quill.TOOLCHAIN)


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def folders() -> list[str]:
    """Everything lies in the system's folders and in Python's own."""
    return []


def claims() -> str:
    return "cpu"


def install(current: Callable[[], Recorder | None]) -> None:
    native_record.install_native(current)


def translate(program: str) -> Translated:
    """A program becomes C here, outside the recorder: what is launched is a scroll."""
    try:
        source, scrolls = quill_c.to_c(program), quill_read.read(program)
    except quill_read.QuillError as error:
        raise native.BuildError(error.beside(program)) from None
    heads = {s.name: {p.name: quill.taken(p) for p in s.parameters} for s in scrolls}
    return Translated(source, heads)


def compile(request: dict) -> bytes:
    """The texts of the request are C."""
    return native_compiler.compile_libraries(request, quill.TOOLCHAIN)
