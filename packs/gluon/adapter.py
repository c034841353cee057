"""adapter.py: how the verifier runs this pack's candidates. Trusted; called in the
zygote and in each child (docs/PACKS.md, "adapter.py"). Gluon has no interpreter:
kernels run on CUDA, and Triton's own hook tells the launches."""

from types import ModuleType

import triton
import triton_common
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton_common import folders, is_compile_error, version  # noqa: F401 - of the interface

_WARM = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
@gluon.jit
def warm(p, n, B: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, B, layout=layout)
    x = gl.load(p + i, mask=i < n, other=0.0)
    gl.store(p + i, x + gl.sum(x, axis=0), mask=i < n)
"""


def prepare(mode: str) -> None:
    """Once, in the zygote. Compiling fills Triton's own caches and touches no GPU."""
    signature = {"p": "*fp32", "n": "i32", "B": "constexpr"}
    triton_common.warm_up(_WARM, lambda module: GluonASTSource(module.warm, signature, {"B": 128}))


def child(mode: str) -> None:
    """In each child, before the candidate's source is read."""
    triton_common.watch_launches()


def watched() -> list[ModuleType]:
    """Modules whose functions a candidate must leave as they are."""
    return [triton, gluon, gl, triton_common]


def reset() -> None:
    triton_common.launched.clear()


def launches() -> list[str]:
    return list(triton_common.launched)


def mute() -> bool:
    """From now on kernels do nothing; False where that cannot be done."""
    return triton_common.mute_launches()


def describe() -> list[dict]:
    """What runs here is what was compiled: nothing more to try."""
    return []
