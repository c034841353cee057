"""adapter.py: how the verifier runs this pack's candidates (docs/PACKS.md, "adapter.py").
Trusted; called in the zygote and in each child. TLX is an extension of Triton's language, so
recorder, compiler and judge are Triton's; it has no interpreter."""

from collections.abc import Callable

from shared import packages

packages.add("tlx", "triton")  # before Triton is imported

import triton.language.extra.tlx  # noqa: E402, F401 - its absence is reported here
from compiler import triton_compiler  # noqa: E402
from recorder import triton_record  # noqa: E402
from shared import triton_common  # noqa: E402
from shared.adapter import Recorder  # noqa: E402
from shared.triton_common import is_compile_error  # noqa: E402, F401 - of the interface
from shared.triton_common import triton_identity as identity  # noqa: E402, F401 - of the interface
from shared.triton_common import triton_version as version  # noqa: E402, F401 - of the interface

_WARM = """
def warm(p, n, B: tl.constexpr):
    i = tl.arange(0, B)
    held = tlx.local_alloc((B,), tl.float32, 1)
    token = tlx.async_load(p + i, held[0], mask=i < n)
    tlx.async_load_commit_group([token])
    tlx.async_load_wait_group(0)
    x = tlx.local_load(held[0])
    tl.store(p + i, x + tl.sum(x, axis=0), mask=i < n)
"""
_SPEC = {
    "name": "warm", "line": 2, "defaults": {}, "noinline": False, "do_not_specialize": [],
    "bind": {"tl": {"module": "triton.language"}, "tlx": {"module": "triton.language.extra.tlx"}},
    "language": "triton",
}  # fmt: skip


def prepare(mode: str) -> None:
    """Once, in the zygote: what a first kernel would load is loaded here."""
    args = {"p": {"t": [0, "float32", 0]}, "n": 100, "B": 128}
    triton_common.warm_up_compiler(compile, _WARM, _SPEC, args)


def child(mode: str) -> None:
    """In each child, after the box."""


def folders() -> list[str]:
    """Where the language lies, which may be outside of Python's own folders."""
    return [packages.folder("tlx")]


def claims() -> str:
    """Where a candidate's tensors seem to be: kernels of this language run on GPUs."""
    return "cuda:0"


def install(current: Callable[[], Recorder | None]) -> None:
    triton_record.install_triton(current)


def compile(request: dict) -> bytes:
    return triton_compiler.compile_triton(request)
