"""For test_forged.py: bytes in a recorder's place that are no trace, and traces that lie about
memory, moves and state."""

from __future__ import annotations

from forging import (
    ADD, COUNTED, RELU, SCALE, SIZE, TRUNCATE, X, Forgery, Table, call, const, copy,
    fill, kept, launch, new, state, task, tensor, trace, view,
)  # fmt: skip
from forging_triton import BOTH, GOOD, KERNELS, SCALES, kernel, relu, relu_with, scaled

forgery = Table("memory", KERNELS, GOOD, "forger", "triton")


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


@forgery(task("def forward(self, x):\n    return x & 255", "torch.randint(1 << 40, (8, 32))"))
def a_remainder_by_casts_of_the_input() -> bytes:
    size, wide = {"kind": "new", "bytes": SIZE, "dtype": "uint8"}, new(SIZE, "int64")
    nodes = [copy(view(1, dtype="uint8"), view(0, dtype="int64")),
             copy(view(2, dtype="int64"), view(1, dtype="uint8")), launch(**BOTH)]  # fmt: skip
    return relu("idle_kernel", [X, size, wide], nodes, view(2, dtype="int64"))


@forgery(task("def forward(self, x):\n    return x.to(torch.uint8)", "torch.randint(256, (8, 32))"))
def a_cast_of_what_a_kernel_wrote() -> bytes:
    nodes = [launch(**BOTH), copy(view(2, dtype="uint8"), view(1, dtype="int64"))]
    small = {"kind": "new", "bytes": SIZE, "dtype": "uint8"}
    return relu("copy_kernel", [X, new(SIZE, "int64"), small], nodes, view(2, dtype="uint8"))


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


# Not refused, but with weights that start at one and zero, and are not looked at.
WEIGHTLESS = Forgery("weightless", SCALE, KERNELS, relu("copy_kernel"))
