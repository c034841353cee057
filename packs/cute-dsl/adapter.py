"""adapter.py: how the verifier records and compiles this pack's candidates (docs/PACKS.md,
"adapter.py"). Trusted; called in the zygote and in each child."""

import os
from collections.abc import Callable

from shared import packages

packages.add("cute-dsl")  # before the language is imported

import cutlass  # noqa: E402
import cutlass.cute as cute  # noqa: E402
from cutlass.base_dsl import diagnostics  # noqa: E402
from cutlass.base_dsl.common import DSLBaseError  # noqa: E402
from compiler import cute_compiler  # noqa: E402
from recorder import cute_record  # noqa: E402
from shared.adapter import Recorder  # noqa: E402

_LANGUAGE = os.path.dirname(cutlass.__file__)

for _name in [n for n in vars(diagnostics.Colors) if n.isupper()]:
    setattr(diagnostics.Colors, _name, "")  # messages are for files, not for terminals
diagnostics._DIAGNOSTIC_LABEL_COLORS.clear()


@cute.kernel
def _warm_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i] = x[i] * 2.0


@cute.jit
def _warm(x: cute.Tensor):
    _warm_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])


def prepare(mode: str) -> None:
    """Once, in the zygote: what a first kernel would load is loaded here. No driver is asked:
    CUTE_DSL_ARCH says what is compiled for."""
    if mode == "record":
        cute_record.host_runtime()
        cute.compile(_warm, cute.runtime.make_fake_compact_tensor(cutlass.Float32, (32,)))


def child(mode: str) -> None:
    """In each child, after the box."""


def version() -> str:
    return f"nvidia-cutlass-dsl {cutlass.__version__}"


def identity() -> str:
    return version()


def folders() -> list[str]:
    """Where the language lies, which may be outside of Python's own folders."""
    packages = os.path.dirname(_LANGUAGE)
    return [packages, os.path.dirname(os.path.dirname(packages))]


def is_compile_error(problem: BaseException) -> bool:
    """What the compiler raises has classes of its own; other errors are the language's if its
    own code raised them."""
    if isinstance(problem, (DSLBaseError, cute_compiler.CompileFailed, cute_compiler.Denied)):
        return True
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and frame.tb_frame.f_code.co_filename.startswith(_LANGUAGE)


def claims() -> str:
    """Where a candidate's tensors seem to be: kernels of this language run on GPUs."""
    return "cuda:0"


def install(current: Callable[[], Recorder | None]) -> None:
    cute_record.install_cute(current)


def compile(request: dict) -> bytes:
    return cute_compiler.compile_cute(request)
