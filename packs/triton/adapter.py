"""adapter.py: how the verifier runs this pack's candidates (docs/PACKS.md, "adapter.py").
Trusted; called in the zygote and in each child. On the CPU kernels run in Triton's
interpreter, with its known defects repaired (repairs.py), and are compiled besides: the
interpreter accepts what the compiler refuses."""

import mmap
from collections.abc import Callable

from shared import triton_common
from shared.adapter import Recorder, Runner
from shared.triton_common import is_compile_error  # noqa: F401 - of the interface
from shared.triton_common import triton_identity as identity  # noqa: F401 - of the interface
from shared.triton_common import triton_version as version  # noqa: F401 - of the interface

_WARM = """
def warm(p, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(p + i, mask=i < n, other=0.0)
    tl.store(p + i, x + tl.sum(x, axis=0), mask=i < n)
"""
_SPEC = {"name": "warm", "line": 2, "bind": {"tl": {"module": "triton.language"}}, "defaults": {},
         "noinline": False, "do_not_specialize": [], "language": "triton"}  # fmt: skip


def prepare(mode: str) -> None:
    """Once, in the zygote: what a first kernel would load is loaded here."""
    if mode == "interpret":
        import libdevice
        import repairs
        from executor import triton_interpret

        libdevice.apply()
        repairs.apply()
        triton_interpret.prepare()
        triton_interpret.warm_up_interpreter(_WARM, _SPEC)
    else:
        from recorder import triton_record  # noqa: F401 - or each recorder would

        args = {"p": {"t": [0, "float32", 0]}, "n": 100, "B": 64}
        triton_common.warm_up_compiler(compile, _WARM, _SPEC, args)


def child(mode: str) -> None:
    """In each child, after the box."""


def folders() -> list[str]:
    """Everything lies in the system's folders and in Python's own."""
    return []


def claims() -> str:
    """Where a candidate's tensors seem to be: kernels of this language run on GPUs."""
    return "cuda:0"


def install(current: Callable[[], Recorder | None]) -> None:
    from recorder import triton_record

    triton_record.install_triton(current)


def compile(request: dict) -> bytes:
    from compiler import triton_compiler

    return triton_compiler.compile_triton(request)


def interpreter(message: dict, region: mmap.mmap) -> Runner:
    from executor import triton_interpret

    return triton_interpret.Interpreter(message, region)
