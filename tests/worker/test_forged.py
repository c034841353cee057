"""A recorder that was replaced entirely: whatever bytes it answers with, nothing is found
correct that kernels did not compute, and nothing is blamed on the machinery."""

from __future__ import annotations

from pathlib import Path

import pytest
from forging import (
    ADD, COPY, COUNTED, PACKS, PAIR, RELU, SCALE, SIZE, TRANSPOSE, TRUNCATE, X, Forgery, Table, call, const,
    copy, fill, judged, kept, launch, new, state, tensor, trace, view,
)  # fmt: skip
from worker_run import Outcome, described, make_home, run

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
forgery = Table(KERNELS)
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


def scaled(a: str, b: str, told: list | None = None, **more: object) -> bytes:
    buffers = [X, new(), state(a), state(b)]
    node = launch(x=tensor(0), a=tensor(2, (32,)), b=tensor(3, (32,)), y=tensor(1), B=32, grid=(8,))
    return trace(call(buffers, [node], view(1)), kernels=[kernel("scale_kernel")],
                 state=told or SCALES, **more)  # fmt: skip


# ---- bytes that are no trace -----------------------------------------------------------


@forgery(RELU)
def nothing() -> bytes:
    return b""


@forgery(RELU)
def no_newline() -> bytes:
    return b'{"trace": 1}'


@forgery(RELU)
def noise() -> bytes:
    return bytes(range(256)) * 64


@forgery(RELU)
def a_list() -> bytes:
    return b"[1, 2, 3]\n"


@forgery(RELU)
def another_version() -> bytes:
    return relu(trace=2)


@forgery(RELU)
def brackets_in_brackets() -> bytes:
    return b"[" * 100_000 + b"]" * 100_000 + b"\n"


@forgery(RELU)
def dicts_a_thousand_deep() -> bytes:
    return relu(texts="DEEP").replace(b'"DEEP"', b'{"a":' * 1000 + b"1" + b"}" * 1000)


@forgery(RELU)
def numbers_of_a_million_digits() -> bytes:
    return relu_with(n=7).replace(b'"n": 7', b'"n": ' + b"7" * 1_000_000)


@forgery(RELU)
def a_header_without_end() -> str:
    return "def forge(message):\n    return b'[' + b' ' * (33 << 20)"


@forgery(RELU)
def constants_without_end() -> str:
    return f"def forge(message):\n    return {GOOD.data!r} + bytes(65 << 20)"


@forgery(RELU)
def an_answer_that_raises() -> str:
    return "def forge(message):\n    raise SystemExit(0)"


@forgery(RELU)
def a_silent_exit() -> str:
    return "import os\ndef forge(message):\n    os._exit(0)"


@forgery(RELU)
def text_in_the_place_of_bytes() -> str:
    return "def forge(message):\n    return 'trace'"


# ---- no work of a kernel ---------------------------------------------------------------


@forgery(RELU)
def no_launch() -> bytes:
    return relu(nodes=[fill(view(1), 0.0)])


@forgery(RELU)
def launches_in_the_first_call_only() -> bytes:
    steady = call([X, new()], [fill(view(1), 0.0)], view(1))
    return trace(RELU_CALL, steady, kernels=[kernel("relu_kernel")])


@forgery(COPY)
def a_grid_of_zero_beside_a_copy() -> bytes:
    return relu(nodes=[copy(view(1), view(0)), launch(**BOTH, grid=(0,))])


@forgery(RELU)
def a_grid_below_zero() -> bytes:
    return relu(nodes=[launch(**BOTH, grid=(-1,))])


@forgery(RELU)
def a_grid_of_fractions() -> bytes:
    return relu(nodes=[launch(**BOTH, grid=(1.5,))])


@forgery(RELU, call_ms=3000)
def a_grid_without_end() -> bytes:
    return relu(nodes=[launch(**BOTH, grid=(2**31 - 1,))])


@forgery(COPY)
def a_copy_beside_an_idle_kernel() -> bytes:
    return relu("idle_kernel", nodes=[copy(view(1), view(0)), launch(**BOTH)])


@forgery(TRANSPOSE)
def a_transposition_by_moves() -> bytes:
    turned = view(0, (32, 8), (1, 32))
    nodes = [copy(view(1, (32, 8)), turned), launch(**BOTH)]
    return relu("idle_kernel", nodes=nodes, output=view(1, (32, 8)))


@forgery(TRANSPOSE)
def a_transposition_in_the_setup() -> bytes:
    """The setup is not timed: it must not see inputs."""
    packed = copy(view(1, (32, 8)), view(0, (32, 8), (1, 32)))
    setup = {"buffers": [X, new(id=1)], "nodes": [packed]}
    nodes = [launch(x=tensor(0), y=tensor(1), n=SIZE, B=256)]
    return trace(call([kept(1), new()], nodes, view(1, (32, 8))), setup=setup,
                 kernels=[kernel("copy_kernel")])  # fmt: skip


@forgery(RELU)
def a_setup_that_clears_the_inputs() -> bytes:
    return relu(setup={"buffers": [X], "nodes": [fill(view(0), 0.0)]})


@forgery(SCALE)
def a_setup_that_changes_parameters() -> bytes:
    setup = {"buffers": [state("scale")], "nodes": [fill(view(0, (32,)), 1.0)]}
    return scaled("scale", "shift", setup=setup)


@forgery(RELU)
def a_launch_in_the_setup() -> bytes:
    return relu(setup={"buffers": [X, new()], "nodes": [launch(**BOTH)]})


@forgery(RELU)
def memory_that_nobody_wrote() -> bytes:
    return relu("idle_kernel")


# ---- outputs that are not the kernel's -------------------------------------------------


@forgery(COPY)
def the_input_returned() -> bytes:
    return relu(output=view(0))


@forgery(SCALE)
def a_parameter_returned() -> bytes:
    buffers = [X, new(), state("scale")]
    return relu(buffers=buffers, output=view(2, (8, 32), (0, 1)), state=SCALES)


@forgery(RELU)
def a_constant_returned() -> bytes:
    return relu(buffers=[X, new(), const()], output=view(2), blob=bytes(4 * SIZE))


@forgery(RELU)
def constants_copied_by_a_kernel() -> bytes:
    nodes = [launch(x=tensor(2), y=tensor(1), n=SIZE, B=256)]
    return relu("copy_kernel", [X, new(), const()], nodes, blob=b"\0\0\x80\x3f" * SIZE)


@forgery(RELU)
def the_first_answer_kept() -> bytes:
    first = call([X, new(id=5)], [launch(**BOTH)], view(1))
    steady = call([X, kept(5), new()], [launch(x=tensor(0), y=tensor(2), n=SIZE, B=256)], view(1))
    return trace(first, steady, kernels=[kernel("relu_kernel")])


@forgery(RELU)
def a_steady_call_that_is_wrong() -> bytes:
    steady = call([X, new()], [launch(1, **BOTH)], view(1))
    return trace(RELU_CALL, steady, kernels=[kernel("relu_kernel"), kernel("copy_kernel")])


@forgery(RELU)
def a_first_call_that_is_wrong() -> bytes:
    first = call([X, new()], [launch(1, **BOTH)], view(1))
    return trace(first, RELU_CALL, kernels=[kernel("relu_kernel"), kernel("copy_kernel")])


@forgery(RELU)
def three_calls() -> bytes:
    return trace(RELU_CALL, RELU_CALL, RELU_CALL, kernels=[kernel("relu_kernel")])


@forgery(RELU)
def rows_that_share_memory() -> bytes:
    return relu(output=view(1, (8, 32), (0, 1)))


@forgery(RELU)
def elements_that_share_memory() -> bytes:
    return relu(output=view(1, (8, 32), (1, 1)))


@forgery(RELU)
def an_output_without_elements() -> bytes:
    return relu(output=view(1, (0, 32)))


def paired(output: dict) -> bytes:
    return trace(call([X, new(), new()], [launch(**BOTH)], output), kernels=[kernel("copy_kernel")])


LEAF, OTHER = {"tensor": view(1)}, {"tensor": view(2)}


@forgery(PAIR)
def a_list_in_the_place_of_a_dict() -> bytes:
    return paired({"list": [LEAF, {"tuple": [OTHER, {"value": 3}]}]})


@forgery(PAIR)
def a_key_too_many() -> bytes:
    more = ["more", {"tuple": [OTHER, {"value": 3}]}]
    return paired({"dict": [["twice", LEAF], more, ["extra", {"value": None}]]})


@forgery(PAIR)
def another_plain_value() -> bytes:
    return paired({"dict": [["twice", LEAF], ["more", {"tuple": [OTHER, {"value": 4}]}]]})


@forgery(PAIR)
def a_plain_value_of_no_kind() -> bytes:
    more = {"tuple": [OTHER, {"value": {"a": [1]}}]}
    return paired({"dict": [["twice", LEAF], ["more", more]]})


@forgery(PAIR)
def a_plain_value_that_is_true() -> bytes:
    return paired({"value": {"x": 1}})


@forgery(PAIR)
def keys_that_are_lists() -> bytes:
    return paired({"dict": [[["twice"], LEAF], [{"a": 1}, OTHER]]})


@forgery(PAIR)
def outputs_in_outputs() -> bytes:
    out: dict = LEAF
    for _ in range(50):
        out = {"tuple": [out]}
    return paired(out)


# ---- memory ----------------------------------------------------------------------------


@forgery(RELU)
def a_view_outside_its_buffer() -> bytes:
    return relu_with(y=tensor(1, offset=1))


@forgery(RELU)
def a_view_before_its_buffer() -> bytes:
    return relu_with(y=tensor(1, offset=-1))


@forgery(RELU)
def strides_below_zero_in_a_launch() -> bytes:
    return relu_with(x=tensor(0, (8, 32), (-32, 1), offset=224))


@forgery(RELU)
def a_buffer_that_is_not_there() -> bytes:
    return relu_with(x=tensor(7))


@forgery(RELU)
def an_input_that_is_not_there() -> bytes:
    return relu(buffers=[{"kind": "input", "index": 3}, new()])


@forgery(RELU)
def four_terabytes() -> bytes:
    return relu(buffers=[X, new(), {"kind": "new", "bytes": 1 << 42, "dtype": "int8"}])


@forgery(RELU)
def more_than_any_memory() -> bytes:
    return relu(buffers=[X, new(), {"kind": "new", "bytes": 1 << 60, "dtype": "int8"}])


@forgery(RELU)
def one_constant_ten_thousand_times() -> bytes:
    many = [const(0, n) for n in range(1, 10_000)]
    return relu("copy_kernel", buffers=[X, new(), *many], blob=bytes(40_000))


@forgery(RELU)
def shapes_whose_product_overflows() -> bytes:
    huge = view(1, (2**41, 2**41, 0), (2**41, 2**41, 1))
    return relu("copy_kernel", nodes=[copy(huge, huge), fill(huge, 1), launch(**BOTH)])


@forgery(RELU)
def a_view_of_nothing_far_away() -> bytes:
    return relu("copy_kernel", nodes=[launch(**(BOTH | {"x": tensor(0, (0,), offset=1 << 41)}))])


@forgery(RELU)
def twenty_thousand_moves() -> bytes:
    return relu("copy_kernel", nodes=[launch(**BOTH)] + [fill(view(1, (1, 1)), 0)] * 19_999)


@forgery(RELU)
def one_node_too_many() -> bytes:
    return relu(nodes=[launch(**BOTH)] + [fill(view(1, (1, 1)), 0)] * 20_000)


@forgery(RELU)
def two_buffers_with_one_id() -> bytes:
    return relu(buffers=[X, new(id=1), new(id=1)])


@forgery(RELU)
def kept_memory_of_nobody() -> bytes:
    return relu(buffers=[X, new(), kept(9)], output=view(2))


@forgery(RELU)
def kept_memory_that_grew() -> bytes:
    first = call([X, new(), new(4, id=1)], [launch(**BOTH)], view(1))
    steady = call([X, kept(1)], [launch(**BOTH)], view(1))
    return trace(first, steady, kernels=[kernel("relu_kernel")])


@forgery(RELU)
def a_kernel_that_writes_its_input() -> bytes:
    return relu("overwrite_kernel")


@forgery(RELU)
def a_kernel_that_writes_too_far() -> bytes:
    return relu(nodes=[launch(**(BOTH | {"n": 1024, "B": 1024}))])


@forgery(RELU)
def a_kernel_that_counts_its_calls() -> bytes:
    """Kept memory is as after the first call, whenever the steady one runs."""
    args = BOTH | {"memo": tensor(2, (1,), dtype="int32")}
    zero = fill(view(2, (1,), dtype="int32"), 0)
    first = call([X, new(), new(1, "int32", id=3)], [zero, launch(**args)], view(1))
    steady = call([X, new(), kept(3, 1, "int32")], [launch(**args)], view(1))
    return trace(first, steady, kernels=[kernel("count_kernel")])


# ---- moves that compute ----------------------------------------------------------------


@forgery(TRUNCATE)
def rounding_by_a_copy() -> bytes:
    to = view(1, dtype="int32")
    return relu("idle_kernel", [X, new(SIZE, "int32")], [copy(to, view(0)), launch(**BOTH)], to)


@forgery(RELU)
def comparing_by_a_copy() -> bytes:
    nodes = [copy(view(2, dtype="bool"), view(0)), launch(**BOTH)]
    return relu("copy_kernel", [X, new(), new(SIZE, "bool")], nodes)


@forgery(RELU)
def bits_in_a_copy() -> bytes:
    nodes = [copy(view(1, dtype="int32"), view(0, dtype="int32")), launch(**BOTH)]
    return relu("copy_kernel", nodes=nodes)


@forgery(ADD)
def an_addition_to_the_input() -> bytes:
    nodes = [{"op": "add", "to": view(0, (1, 1)), "value": 1}, launch(**BOTH)]
    return relu("copy_kernel", nodes=nodes)


def counted(to: list, value: object) -> bytes:
    told = [["count", [1], "int64", "buffer"], ["total", [1], "float32", "buffer"]]
    buffers = [X, new(), state("count"), state("total")]
    nodes = [launch(**BOTH), {"op": "add", "to": to, "value": value}]
    return relu(buffers=buffers, nodes=nodes, state=told)


@forgery(COUNTED)
def a_counter_that_jumps() -> bytes:
    return counted(view(2, (1,), dtype="int64"), 2)


@forgery(COUNTED)
def an_addition_of_fractions() -> bytes:
    return counted(view(2, (1,), dtype="int64"), 1.5)


@forgery(COUNTED)
def an_addition_to_a_float() -> bytes:
    return counted(view(3, (1,)), 1)


@forgery(RELU)
def a_fill_with_a_tensor() -> bytes:
    return relu("idle_kernel", nodes=[fill(view(1), {"t": view(0)}), launch(**BOTH)])


@forgery(RELU)
def a_copy_between_two_shapes() -> bytes:
    return relu("idle_kernel", nodes=[copy(view(1), view(0, (1, 32))), launch(**BOTH)])


# ---- state -----------------------------------------------------------------------------


@forgery(SCALE)
def parameters_exchanged() -> bytes:
    return scaled("shift", "scale")


@forgery(SCALE)
def one_parameter_for_both() -> bytes:
    return scaled("scale", "scale")


@forgery(SCALE)
def a_state_that_is_not_there() -> bytes:
    return scaled("scale", "weight")


@forgery(SCALE)
def a_state_that_claims_to_be_larger() -> bytes:
    told = [["scale", [1 << 30], "float32", "parameter"], SCALES[1]]
    return scaled("scale", "shift", told)


@forgery(SCALE)
def a_state_of_no_shape() -> bytes:
    return scaled("scale", "shift", [["scale", {"a": 1}, "float32"], SCALES[1]])


@forgery(SCALE)
def packed_weights_that_are_literals() -> bytes:
    setup = {"buffers": [new(32, id=1), new(32, id=2)],
             "nodes": [fill(view(0, (32,)), 1.0), fill(view(1, (32,)), 0.0)]}  # fmt: skip
    node = launch(x=tensor(0), a=tensor(2, (32,)), b=tensor(3, (32,)), y=tensor(1), B=32, grid=(8,))
    made = call([X, new(), kept(1, 32), kept(2, 32)], [node], view(1))
    return trace(made, kernels=[kernel("scale_kernel")], state=SCALES, setup=setup)


@forgery(SCALE)
def weights_that_are_told_to_be_unpacked() -> bytes:
    buffers = [X, new(), const(0, 32), const(128, 32)]
    node = launch(x=tensor(0), a=tensor(2, (32,)), b=tensor(3, (32,)), y=tensor(1), B=32, grid=(8,))
    return trace(call(buffers, [node], view(1)), kernels=[kernel("scale_kernel")], state=SCALES,
                 blob=b"\0\0\x80\x3f" * 32 + bytes(128), packed=False)  # fmt: skip


# ---- kernels ---------------------------------------------------------------------------


@forgery(RELU)
def a_method_as_a_kernel() -> bytes:
    return relu(kernels=[kernel("method")])


@forgery(RELU)
def a_function_in_a_function_as_a_kernel() -> bytes:
    return relu(kernels=[kernel("inner")])


@forgery(RELU)
def a_lambda_as_a_kernel() -> bytes:
    return relu(kernels=[kernel("<lambda>", line=len(KERNELS.splitlines()))])


@forgery(RELU)
def a_name_of_two_lines() -> bytes:
    return relu(kernels=[kernel("relu_kernel\nimport os", line=6)])


@forgery(RELU)
def a_name_that_python_uses() -> bytes:
    return relu(kernels=[kernel("__import__", line=6)])


@forgery(RELU)
def a_kernel_on_another_line() -> bytes:
    return relu(kernels=[kernel("relu_kernel", line=8)])


@forgery(RELU)
def a_kernel_that_is_not_there() -> bytes:
    return relu(nodes=[launch(3, **BOTH)])


@forgery(RELU)
def a_module_of_python() -> bytes:
    return relu(kernels=[kernel("system_kernel", os={"module": "os"})])


@forgery(RELU)
def a_module_inside_the_language() -> bytes:
    return relu(kernels=[kernel("system_kernel", os={"module": "triton.language.core.os"})])


@forgery(RELU)
def a_function_of_python() -> bytes:
    return relu(kernels=[kernel("call_kernel", f={"from": ["os", "system"]})])


@forgery(RELU)
def a_function_of_the_languages_modules() -> bytes:
    return relu(kernels=[kernel("call_kernel", f={"from": ["triton.language.core", "exec"]})])


@forgery(RELU)
def a_builtin_by_its_value() -> bytes:
    return relu(kernels=[kernel("call_kernel", f={"value": {"module": "builtins"}})])


@forgery(RELU)
def a_name_of_pythons_own() -> bytes:
    return relu(kernels=[kernel("call_kernel", __builtins__={"module": "builtins"})])


@forgery(RELU)
def tuples_a_thousand_deep() -> bytes:
    made = relu(kernels=[kernel("call_kernel", f="DEEP")])
    return made.replace(b'"DEEP"', deep(1000, b'{"value": 1}'))


@forgery(RELU)
def tuples_thirty_deep() -> bytes:
    made = relu(kernels=[kernel("call_kernel", f="DEEP")])
    return made.replace(b'"DEEP"', deep(28, b'{"value": 1}'))


@forgery(RELU)
def a_kernel_that_calls_itself() -> bytes:
    return relu(kernels=[kernel("again_kernel", f={"kernel": 0})])


@forgery(RELU)
def a_tensor_as_a_constant() -> bytes:
    """A kernel that gets torch's own tensor could compute with torch."""
    return relu("torch_kernel")


@forgery(RELU)
def a_thousand_kernels_too_many() -> bytes:
    return relu(kernels=[kernel("relu_kernel")] * 2000)


# ---- arguments and options -------------------------------------------------------------


@forgery(RELU)
def a_number_that_is_text() -> bytes:
    return relu_with(n="NaN")


@forgery(RELU)
def a_number_that_is_nan() -> bytes:
    return relu_with(n=float("nan"))


@forgery(RELU)
def a_number_too_large() -> bytes:
    return relu_with(n=10**30)


@forgery(RELU)
def an_argument_in_tuples() -> bytes:
    return relu_with(n="DEEP").replace(b'"DEEP"', deep(1000, b"1"))


@forgery(RELU)
def an_argument_of_no_kind() -> bytes:
    return relu_with(n={"exec": "import os"})


@forgery(RELU)
def an_argument_missing() -> bytes:
    return relu(nodes=[launch(x=tensor(0), B=256)])


@forgery(RELU)
def an_argument_named_like_python() -> bytes:
    return relu_with(__class__=1)


@forgery(RELU)
def a_dtype_of_no_language() -> bytes:
    return relu_with(x={"reinterpret": [view(0), "os.system"]})


@forgery(RELU)
def a_tensor_reinterpreted() -> bytes:
    return relu_with(x={"reinterpret": [view(0), "int32"]})


@forgery(RELU)
def a_descriptor_outside_its_buffer() -> bytes:
    return relu_with(x={"desc": [view(0), [8, 64], [64, 1], [8, 32], "zero"]})


@forgery(RELU)
def a_descriptor_of_odd_parts() -> bytes:
    return relu_with(x={"desc": [view(0), [8, 32], ["a", 1], [8, 32], "zero", {"layout": 1}]})


@forgery(RELU)
def options_of_another_kind() -> bytes:
    return relu(nodes=[launch(**BOTH, options={"extern_libs": [["a", "/etc/passwd"]]})])


@forgery(RELU)
def a_billion_warps() -> bytes:
    return relu(nodes=[launch(**BOTH, options={"num_warps": 10**9})])


def one_of(right: bool, **more: object) -> dict:
    return {"grid": [1], "args": BOTH | {"RIGHT": right}, "options": {}, **more}


@forgery(RELU)
def a_second_configuration_that_is_wrong() -> bytes:
    node = launch(**BOTH, RIGHT=True, tuned=[one_of(True), one_of(False)])
    return relu("either_kernel", nodes=[node])


@forgery(RELU)
def a_configuration_with_another_kernel() -> bytes:
    kernels = [kernel("copy_kernel"), kernel("relu_kernel")]
    told = {"grid": [1], "args": BOTH, "options": {}, "kernel": 1}
    return relu(nodes=[launch(**BOTH, tuned=[told])], kernels=kernels)


@forgery(RELU)
def a_first_configuration_that_is_not_the_nodes() -> bytes:
    """What is delivered is the node's own."""
    node = launch(**BOTH, RIGHT=False, tuned=[one_of(True), one_of(True)])
    return relu("either_kernel", nodes=[node])


@forgery(RELU)
def sixty_five_configurations() -> bytes:
    node = launch(**BOTH, RIGHT=True, tuned=[one_of(True)] * 65)
    return relu("either_kernel", nodes=[node])


@forgery(RELU)
def a_call_of_a_library() -> bytes:
    node = {"op": "call", "text": 0, "function": "relu_kernel", "args": []}
    return relu(nodes=[node], texts=["void relu_kernel(void) {}"])


@forgery(RELU)
def a_node_of_no_kind() -> bytes:
    return relu(nodes=[{"op": "exec", "text": "import os"}])


# ---- the tests -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    return judged(folder, forgery, GOOD, "forger", "triton")


def test_there_are_sixty_at_least() -> None:
    assert len(forgery.forgeries) >= 60


@pytest.mark.parametrize("name", forgery.forgeries)
def test_a_forged_trace_is_the_candidates_fault(outcome: Outcome, name: str) -> None:
    assert name not in outcome.infra, outcome.infra[name]
    answer = outcome.answers[name]
    assert answer["verdict"] not in ("correct", "infra"), described(name, answer)


def test_weights_of_its_own_end_at_e2(folder: Path) -> None:
    """They start at one and zero, and are not looked at."""
    made = Forgery("weightless", SCALE, KERNELS, relu("copy_kernel"))
    program, home = make_home(folder)
    jobs = [made.job(folder, "forger", "triton")]
    answer = run(program, home, folder, jobs, packs=PACKS).answers["weightless"]
    assert answer["evidence"] != "E3", described("weightless", answer)


def test_honest_traces_between_them_are_correct(outcome: Outcome) -> None:
    good = {n: a for n, a in outcome.answers.items() if n.startswith("good-")}
    assert good
    for name, answer in good.items():
        assert (answer["verdict"], answer["evidence"]) == ("correct", "E3"), described(name, answer)


def test_the_judge_survives_them(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.log
    assert "ended; its last words" not in outcome.log, outcome.log
    assert "Traceback" not in outcome.log, outcome.log
