"""For test_forged.py: bytes in a recorder's place that name outputs which no kernel computes."""

from __future__ import annotations

from forging import (
    COPY, PAIR, RELU, SCALE, SIZE, TRANSPOSE, X, Table, call,
    const, copy, fill, kept, launch, new, state, tensor, trace, view,
)  # fmt: skip
from forging_triton import BOTH, GOOD, KERNELS, RELU_CALL, SCALES, kernel, relu, scaled

forgery = Table("outputs", KERNELS, GOOD, "forger", "triton")


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


@forgery(RELU, call_ms=1000)
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
def a_first_call_right_for_plain_inputs() -> bytes:
    first = call([X, new()], [launch(1, **BOTH)], view(1))
    return trace(first, RELU_CALL, kernels=[kernel("relu_kernel"), kernel("clamp_kernel")])


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
