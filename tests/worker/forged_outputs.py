"""For test_forged.py: bytes in a recorder's place that name outputs which no kernel computes."""

from __future__ import annotations

from forging import (
    COPY, PAIR, RELU, SCALE, SIZE, TRANSPOSE, X, Table, call,
    const, copy, fill, kept, launch, new, state, tensor, trace, view,
)  # fmt: skip
from forging_triton import BOTH, GOOD, KERNELS, RELU_CALL, SCALES, kernel, relu, scaled

forgery = Table("outputs", KERNELS, GOOD, "forger", "triton")


# ---- no work of a kernel ---------------------------------------------------------------


forgery.add(RELU,
    no_launch=relu(nodes=[fill(view(1), 0.0)]),
)  # fmt: skip


@forgery(RELU)
def launches_in_the_first_call_only() -> bytes:
    steady = call([X, new()], [fill(view(1), 0.0)], view(1))
    return trace(RELU_CALL, steady, kernels=[kernel("relu_kernel")])


forgery.add(COPY,
    a_grid_of_zero_beside_a_copy=relu(nodes=[copy(view(1), view(0)), launch(**BOTH, grid=(0,))]),
)  # fmt: skip


forgery.add(RELU,
    a_grid_below_zero=relu(nodes=[launch(**BOTH, grid=(-1,))]),
    a_grid_of_fractions=relu(nodes=[launch(**BOTH, grid=(1.5,))]),
)  # fmt: skip


forgery.add(RELU, call_ms=1000,
    a_grid_without_end=relu(nodes=[launch(**BOTH, grid=(2**31 - 1,))]),
)  # fmt: skip


forgery.add(COPY,
    a_copy_beside_an_idle_kernel=relu("idle_kernel", nodes=[copy(view(1), view(0)), launch(**BOTH)]),
)  # fmt: skip


@forgery(TRANSPOSE)
def a_transposition_by_moves() -> bytes:
    turned = view(0, (32, 8), (1, 32))
    nodes = [copy(view(1, (32, 8)), turned), launch(**BOTH)]
    return relu("idle_kernel", nodes=nodes, output=view(1, (32, 8)))


@forgery(TRANSPOSE)
def a_transposition_by_moves_that_a_kernel_copies() -> bytes:
    nodes = [copy(view(2, (32, 8)), view(0, (32, 8), (1, 32))),
             launch(x=tensor(2), y=tensor(1), n=SIZE, B=256)]  # fmt: skip
    return relu("copy_kernel", [X, new(), new()], nodes, view(1, (32, 8)))


@forgery(TRANSPOSE)
def a_transposition_by_moves_of_what_a_kernel_copied() -> bytes:
    nodes = [launch(x=tensor(0), y=tensor(2), n=SIZE, B=256),
             copy(view(1, (32, 8)), view(2, (32, 8), (1, 32)))]  # fmt: skip
    return relu("copy_kernel", [X, new(), new()], nodes, view(1, (32, 8)))


@forgery(TRANSPOSE)
def a_transposition_in_the_setup() -> bytes:
    """The setup is not timed: it must not see inputs."""
    packed = copy(view(1, (32, 8)), view(0, (32, 8), (1, 32)))
    setup = {"buffers": [X, new(id=1)], "nodes": [packed]}
    nodes = [launch(x=tensor(0), y=tensor(1), n=SIZE, B=256)]
    return trace(call([kept(1), new()], nodes, view(1, (32, 8))), setup=setup,
                 kernels=[kernel("copy_kernel")])  # fmt: skip


forgery.add(RELU,
    a_setup_that_clears_the_inputs=relu(setup={"buffers": [X], "nodes": [fill(view(0), 0.0)]}),
)  # fmt: skip


@forgery(SCALE)
def a_setup_that_changes_parameters() -> bytes:
    setup = {"buffers": [state("scale")], "nodes": [fill(view(0, (32,)), 1.0)]}
    return scaled("scale", "shift", setup=setup)


forgery.add(RELU,
    a_launch_in_the_setup=relu(setup={"buffers": [X, new()], "nodes": [launch(**BOTH)]}),
    memory_that_nobody_wrote=relu("idle_kernel"),
)  # fmt: skip


# ---- outputs that are not the kernel's -------------------------------------------------


forgery.add(COPY,
    the_input_returned=relu(output=view(0)),
)  # fmt: skip


@forgery(SCALE)
def a_parameter_returned() -> bytes:
    buffers = [X, new(), state("scale")]
    return relu(buffers=buffers, output=view(2, (8, 32), (0, 1)), state=SCALES)


forgery.add(RELU,
    a_constant_returned=relu(buffers=[X, new(), const()], output=view(2), blob=bytes(4 * SIZE)),
)  # fmt: skip


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
def a_first_call_right_for_plain_inputs() -> bytes:
    first = call([X, new()], [launch(1, **BOTH)], view(1))
    return trace(first, RELU_CALL, kernels=[kernel("relu_kernel"), kernel("clamp_kernel")])


forgery.add(RELU,
    three_calls=trace(RELU_CALL, RELU_CALL, RELU_CALL, kernels=[kernel("relu_kernel")]),
    rows_that_share_memory=relu(output=view(1, (8, 32), (0, 1))),
    elements_that_share_memory=relu(output=view(1, (8, 32), (1, 1))),
    an_output_without_elements=relu(output=view(1, (0, 32))),
)  # fmt: skip


def paired(output: dict) -> bytes:
    return trace(call([X, new(), new()], [launch(**BOTH)], output), kernels=[kernel("copy_kernel")])


LEAF, OTHER = {"tensor": view(1)}, {"tensor": view(2)}


forgery.add(PAIR,
    a_list_in_the_place_of_a_dict=paired({"list": [LEAF, {"tuple": [OTHER, {"value": 3}]}]}),
)  # fmt: skip


@forgery(PAIR)
def a_key_too_many() -> bytes:
    more = ["more", {"tuple": [OTHER, {"value": 3}]}]
    return paired({"dict": [["twice", LEAF], more, ["extra", {"value": None}]]})


forgery.add(PAIR,
    another_plain_value=paired({"dict": [["twice", LEAF], ["more", {"tuple": [OTHER, {"value": 4}]}]]}),
)  # fmt: skip


@forgery(PAIR)
def a_plain_value_of_no_kind() -> bytes:
    more = {"tuple": [OTHER, {"value": {"a": [1]}}]}
    return paired({"dict": [["twice", LEAF], ["more", more]]})


forgery.add(PAIR,
    a_plain_value_that_is_true=paired({"value": {"x": 1}}),
    keys_that_are_lists=paired({"dict": [[["twice"], LEAF], [{"a": 1}, OTHER]]}),
)  # fmt: skip


@forgery(PAIR)
def outputs_in_outputs() -> bytes:
    out: dict = LEAF
    for _ in range(50):
        out = {"tuple": [out]}
    return paired(out)
