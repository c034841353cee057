"""adapter.py: how the verifier runs this pack's candidates (docs/PACKS.md, "adapter.py").
Trusted; called in the zygote and in each child. Gluon's functions are Triton's with another
language; it has no interpreter."""

from collections.abc import Callable

from compiler import triton_compiler
from recorder import triton_record
from shared import triton_common
from shared.adapter import Recorder
from shared.triton_common import is_compile_error  # noqa: F401 - of the interface
from shared.triton_common import triton_identity as identity  # noqa: F401 - of the interface
from shared.triton_common import triton_version as version  # noqa: F401 - of the interface

_WARM = """
def warm(p, n, B: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, B, layout=layout)
    x = gl.load(p + i, mask=i < n, other=0.0)
    gl.store(p + i, x + gl.sum(x, axis=0), mask=i < n)
"""
_SPEC = {
    "name": "warm", "line": 2, "bind": {"gl": {"module": "triton.experimental.gluon.language"}},
    "defaults": {}, "noinline": False, "do_not_specialize": [], "language": "gluon",
}  # fmt: skip


def prepare(mode: str) -> None:
    """Once, in the zygote: what a first kernel would load is loaded here."""
    args = {"p": {"t": [0, "float32", 0]}, "n": 100, "B": 128}
    triton_common.warm_up_compiler(compile, _WARM, _SPEC, args)


def child(mode: str) -> None:
    """In each child, after the box."""


def folders() -> list[str]:
    """Everything lies in the system's folders and in Python's own."""
    return []


def claims() -> str:
    """Where a candidate's tensors seem to be."""
    return "cuda:0"


def install(current: Callable[[], Recorder | None]) -> None:
    triton_record.install_triton(current)


def compile(request: dict) -> bytes:
    return triton_compiler.compile_triton(request)
