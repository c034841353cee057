"""The Triton family's part of forged traces: kernels to launch, and an honest trace with
something else in it."""

from __future__ import annotations

from forging import RELU, SIZE, X, Forgery, call, launch, new, state, tensor, trace, view

KERNELS = """import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


@triton.jit
def copy_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def clamp_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.minimum(tl.maximum(v, 0.0), 6.0), mask=i < n)


@triton.jit
def idle_kernel(x, y, n, B: tl.constexpr):
    pass


@triton.jit
def scale_kernel(x, a, b, y, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * B + i
    tl.store(y + at, tl.load(x + at) * tl.load(a + i) + tl.load(b + i))


@triton.jit
def add_kernel(a, b, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def either_kernel(x, y, n, B: tl.constexpr, RIGHT: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if RIGHT:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


@triton.jit
def overwrite_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0)
    tl.store(y + i, v, mask=i < n)
    tl.store(x + i, v, mask=i < n)


@triton.jit
def count_kernel(x, y, memo, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if tl.load(memo) == 0:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)
    tl.store(memo, 1)


@triton.jit
def system_kernel(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    os.system("id")
    tl.store(y + i, tl.maximum(tl.load(x + i), 0.0))


@triton.jit
def call_kernel(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    f(tl.load(x + i))
    tl.store(y + i, tl.maximum(tl.load(x + i), 0.0))


@triton.jit
def torch_kernel(x: tl.constexpr, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    if x.sum() > 0:
        tl.store(y + i, 1.0)


@triton.jit
def again_kernel(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, f(tl.load(x + i)))


class Helper:
    def method(self, x):
        import os

        return os.system("id")

    def outer(self):
        def inner(x, y, n, B):
            return open("/etc/passwd").read()

        return inner, lambda x: x
"""
TL = {"module": "triton.language"}


def kernel(name: str, line: int | None = None, **bind: object) -> dict:
    at = KERNELS[: KERNELS.index(f"def {name}(")].count("\n") + 1 if line is None else line
    return {"name": name, "line": at, "bind": {"tl": TL, **bind}, "noinline": False,
            "do_not_specialize": []}  # fmt: skip


BOTH = {"x": tensor(0), "y": tensor(1), "n": SIZE, "B": 256}
RELU_CALL = call([X, new()], [launch(**BOTH)], view(1))
SCALES = [["scale", [32], "float32", "parameter"], ["shift", [32], "float32", "parameter"]]
GOOD = Forgery("good", RELU, KERNELS, trace(RELU_CALL, kernels=[kernel("relu_kernel")]))


def relu(name: str = "relu_kernel", buffers: list | None = None, nodes: list | None = None,
         output: object = None, kernels: list | None = None, **more: object) -> bytes:  # fmt: skip
    """The honest trace of a relu, with something else in it."""
    made = call(buffers or [X, new()], [launch(**BOTH)] if nodes is None else nodes,
                view(1) if output is None else output)  # fmt: skip
    return trace(made, kernels=kernels or [kernel(name)], **more)


def relu_with(**args: object) -> bytes:
    return relu(nodes=[launch(**(BOTH | args))])


def deep(levels: int, inner: bytes) -> bytes:
    """Tuples in tuples."""
    return b'{"tuple": [' * levels + inner + b"]}" * levels


def scaled(a: str, b: str, entries: list | None = None, **more: object) -> bytes:
    buffers = [X, new(), state(a), state(b)]
    node = launch(x=tensor(0), a=tensor(2, (32,)), b=tensor(3, (32,)), y=tensor(1), B=32, grid=(8,))
    return trace(call(buffers, [node], view(1)), kernels=[kernel("scale_kernel")],
                 state=entries or SCALES, **more)  # fmt: skip
