"""adapter.py: how the verifier records and builds this pack's candidates. Trusted;
called in the zygote and in each child (docs/PACKS.md, "adapter.py")."""

import hashlib
import platform
from collections.abc import Callable
from pathlib import Path

import quill
import quill_c
import quill_read
from lane import native_lane
from recorder import native_record
from shared import native
from shared.adapter import Recorder

_WARM = """\
scroll warm(well xs: f32[nn], basin ys: f32[nn], count nn)
    letters i = 4
    pour xs[i] -> tt
    pour tt + 1 -> ys[i]
end
"""


def prepare(mode: str) -> None:
    """Once, in the zygote: what this machine lacks shows now."""
    compile({"texts": [_WARM], "objects": [{"text": 0, "launches": [["warm", "ppi"]]}]})


def child(mode: str) -> None:
    """In each child, after the box: there is nothing to do."""


def version() -> str:
    return f"quill 1, {native.version('cc').splitlines()[0]} {platform.machine()}"


def identity() -> str:
    own = b"".join(Path(m.__file__ or "").read_bytes() for m in (quill_read, quill_c))
    return hashlib.sha256(native_lane.identity(quill.TOOLCHAIN).encode() + own).hexdigest()


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def folders() -> list[str]:
    """Everything lies in the system's folders and in Python's own."""
    return []


def claims() -> str:
    return "cpu"


def install(current: Callable[[], Recorder | None]) -> None:
    native_record.install(current)


def compile(request: dict) -> bytes:
    """Programs become C here, outside the recorder: what is launched is a scroll."""
    texts = list(request["texts"])
    for told in request["objects"]:
        program = texts[told["text"]]
        try:
            names = {s.name for s in quill_read.read(program)}
            texts[told["text"]] = quill_c.to_c(program)
        except quill_read.QuillError as error:
            raise native.BuildError(error.beside(program)) from None
        for name, _ in told["launches"]:
            if name not in names:
                raise native.BuildError(f"the program has no scroll {name!r}")
    return native_lane.libraries(request | {"texts": texts}, quill.TOOLCHAIN)
