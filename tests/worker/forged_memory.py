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


forgery.add(RELU,
    nothing=b"",
    no_newline=b'{"trace": 1}',
    noise=bytes(range(256)) * 64,
    a_list=b"[1, 2, 3]\n",
    another_version=relu(trace=2),
    brackets_in_brackets=b"[" * 100_000 + b"]" * 100_000 + b"\n",
    dicts_a_thousand_deep=relu(texts="DEEP").replace(b'"DEEP"', b'{"a":' * 1000 + b"1" + b"}" * 1000),
    numbers_of_a_million_digits=relu_with(n=7).replace(b'"n": 7', b'"n": ' + b"7" * 1_000_000),
    a_header_without_end="def forge(message):\n    return b'[' + b' ' * (33 << 20)",
    constants_without_end=f"def forge(message):\n    return {GOOD.data!r} + bytes(65 << 20)",
    an_answer_that_raises="def forge(message):\n    raise SystemExit(0)",
    a_silent_exit="import os\ndef forge(message):\n    os._exit(0)",
    text_in_the_place_of_bytes="def forge(message):\n    return 'trace'",
)  # fmt: skip


# ---- memory ----------------------------------------------------------------------------


forgery.add(RELU,
    a_view_outside_its_buffer=relu_with(y=tensor(1, offset=1)),
    a_view_before_its_buffer=relu_with(y=tensor(1, offset=-1)),
    strides_below_zero_in_a_launch=relu_with(x=tensor(0, (8, 32), (-32, 1), offset=224)),
    a_buffer_that_is_not_there=relu_with(x=tensor(7)),
    an_input_that_is_not_there=relu(buffers=[{"kind": "input", "index": 3}, new()]),
    four_terabytes=relu(buffers=[X, new(), {"kind": "new", "bytes": 1 << 42, "dtype": "int8"}]),
    more_than_any_memory=relu(buffers=[X, new(), {"kind": "new", "bytes": 1 << 60, "dtype": "int8"}]),
)  # fmt: skip


@forgery(RELU)
def one_constant_ten_thousand_times() -> bytes:
    many = [const(0, n) for n in range(1, 10_000)]
    return relu("copy_kernel", buffers=[X, new(), *many], blob=bytes(40_000))


@forgery(RELU)
def shapes_whose_product_overflows() -> bytes:
    huge = view(1, (2**41, 2**41, 0), (2**41, 2**41, 1))
    return relu("copy_kernel", nodes=[copy(huge, huge), fill(huge, 1), launch(**BOTH)])


forgery.add(RELU,
    a_view_of_nothing_far_away=relu("copy_kernel", nodes=[launch(**(BOTH | {"x": tensor(0, (0,), offset=1 << 41)}))]),
    twenty_thousand_moves=relu("copy_kernel", nodes=[launch(**BOTH)] + [fill(view(1, (1, 1)), 0)] * 19_999),
    one_node_too_many=relu(nodes=[launch(**BOTH)] + [fill(view(1, (1, 1)), 0)] * 20_000),
    two_buffers_with_one_id=relu(buffers=[X, new(id=1), new(id=1)]),
    kept_memory_of_nobody=relu(buffers=[X, new(), kept(9)], output=view(2)),
)  # fmt: skip


@forgery(RELU)
def kept_memory_that_grew() -> bytes:
    first = call([X, new(), new(4, id=1)], [launch(**BOTH)], view(1))
    steady = call([X, kept(1)], [launch(**BOTH)], view(1))
    return trace(first, steady, kernels=[kernel("relu_kernel")])


forgery.add(RELU,
    a_kernel_that_writes_its_input=relu("overwrite_kernel"),
    a_kernel_that_writes_too_far=relu(nodes=[launch(**(BOTH | {"n": 1024, "B": 1024}))]),
)  # fmt: skip


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
    entries = [["count", [1], "int64", "buffer"], ["total", [1], "float32", "buffer"]]
    buffers = [X, new(), state("count"), state("total")]
    nodes = [launch(**BOTH), {"op": "add", "to": to, "value": value}]
    return relu(buffers=buffers, nodes=nodes, state=entries)


forgery.add(COUNTED,
    a_counter_that_jumps=counted(view(2, (1,), dtype="int64"), 2),
    an_addition_of_fractions=counted(view(2, (1,), dtype="int64"), 1.5),
    an_addition_to_a_float=counted(view(3, (1,)), 1),
)  # fmt: skip


forgery.add(RELU,
    a_fill_with_a_tensor=relu("idle_kernel", nodes=[fill(view(1), {"t": view(0)}), launch(**BOTH)]),
    a_copy_between_two_shapes=relu("idle_kernel", nodes=[copy(view(1), view(0, (1, 32))), launch(**BOTH)]),
)  # fmt: skip


# ---- state -----------------------------------------------------------------------------


forgery.add(SCALE,
    parameters_exchanged=scaled("shift", "scale"),
    one_parameter_for_both=scaled("scale", "scale"),
    a_state_that_is_not_there=scaled("scale", "weight"),
)  # fmt: skip


@forgery(SCALE)
def a_state_that_claims_to_be_larger() -> bytes:
    entries = [["scale", [1 << 30], "float32", "parameter"], SCALES[1]]
    return scaled("scale", "shift", entries)


forgery.add(SCALE,
    a_state_of_no_shape=scaled("scale", "shift", [["scale", {"a": 1}, "float32"], SCALES[1]]),
)  # fmt: skip


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
