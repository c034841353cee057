"""For test_forged.py: what a forged trace says about kernels, their names and arguments."""

from __future__ import annotations

from forging import RELU, Table, launch, tensor, trace, view
from forging_triton import BOTH, GOOD, KERNELS, deep, kernel, relu, relu_with

forgery = Table("kernels", KERNELS, GOOD, "forger", "triton")


# ---- kernels ---------------------------------------------------------------------------


forgery.add(RELU,
    a_method_as_a_kernel=relu(kernels=[kernel("method")]),
    a_function_in_a_function_as_a_kernel=relu(kernels=[kernel("inner")]),
    a_lambda_as_a_kernel=relu(kernels=[kernel("<lambda>", line=len(KERNELS.splitlines()))]),
    a_name_of_two_lines=relu(kernels=[kernel("relu_kernel\nimport os", line=6)]),
    a_name_that_python_uses=relu(kernels=[kernel("__import__", line=6)]),
    a_kernel_on_another_line=relu(kernels=[kernel("relu_kernel", line=8)]),
    a_kernel_that_is_not_there=relu(nodes=[launch(3, **BOTH)]),
    a_module_of_python=relu(kernels=[kernel("system_kernel", os={"module": "os"})]),
    a_module_inside_the_language=relu(kernels=[kernel("system_kernel", os={"module": "triton.language.core.os"})]),
    a_function_of_python=relu(kernels=[kernel("call_kernel", f={"from": ["os", "system"]})]),
    a_function_of_the_languages_modules=relu(kernels=[kernel("call_kernel", f={"from": ["triton.language.core", "exec"]})]),
    a_builtin_by_its_value=relu(kernels=[kernel("call_kernel", f={"value": {"module": "builtins"}})]),
    a_name_of_pythons_own=relu(kernels=[kernel("call_kernel", __builtins__={"module": "builtins"})]),
)  # fmt: skip


@forgery(RELU)
def tuples_a_thousand_deep() -> bytes:
    made = relu(kernels=[kernel("call_kernel", f="DEEP")])
    return made.replace(b'"DEEP"', deep(1000, b'{"value": 1}'))


@forgery(RELU)
def tuples_thirty_deep() -> bytes:
    made = relu(kernels=[kernel("call_kernel", f="DEEP")])
    return made.replace(b'"DEEP"', deep(28, b'{"value": 1}'))


forgery.add(RELU,
    a_kernel_that_calls_itself=relu(kernels=[kernel("again_kernel", f={"kernel": 0})]),
    # A kernel that gets torch's own tensor could compute with torch.
    a_tensor_as_a_constant=relu("torch_kernel"),
    a_thousand_kernels_too_many=relu(kernels=[kernel("relu_kernel")] * 2000),
)  # fmt: skip


# ---- arguments and options -------------------------------------------------------------


forgery.add(RELU,
    a_number_that_is_text=relu_with(n="NaN"),
    a_number_that_is_nan=relu_with(n=float("nan")),
    a_number_too_large=relu_with(n=10**30),
    an_argument_in_tuples=relu_with(n="DEEP").replace(b'"DEEP"', deep(1000, b"1")),
    an_argument_of_no_kind=relu_with(n={"exec": "import os"}),
    an_argument_missing=relu(nodes=[launch(x=tensor(0), B=256)]),
    an_argument_named_like_python=relu_with(__class__=1),
    a_dtype_of_no_language=relu_with(x={"reinterpret": [view(0), "os.system"]}),
    a_tensor_reinterpreted=relu_with(x={"reinterpret": [view(0), "int32"]}),
    a_descriptor_outside_its_buffer=relu_with(x={"desc": [view(0), [8, 64], [64, 1], [8, 32], "zero"]}),
    a_descriptor_of_odd_parts=relu_with(x={"desc": [view(0), [8, 32], ["a", 1], [8, 32], "zero", {"layout": 1}]}),
    options_of_another_kind=relu(nodes=[launch(**BOTH, options={"extern_libs": [["a", "/etc/passwd"]]})]),
    a_billion_warps=relu(nodes=[launch(**BOTH, options={"num_warps": 10**9})]),
)  # fmt: skip


def one_of(right: bool, **more: object) -> dict:
    return {"grid": [1], "args": BOTH | {"RIGHT": right}, "options": {}, **more}


@forgery(RELU)
def a_second_configuration_that_is_wrong() -> bytes:
    node = launch(**BOTH, RIGHT=True, tuned=[one_of(True), one_of(False)])
    return relu("either_kernel", nodes=[node])


@forgery(RELU)
def a_configuration_with_another_kernel() -> bytes:
    kernels = [kernel("copy_kernel"), kernel("relu_kernel")]
    config = {"grid": [1], "args": BOTH, "options": {}, "kernel": 1}
    return relu(nodes=[launch(**BOTH, tuned=[config])], kernels=kernels)


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


forgery.add(RELU,
    a_node_of_no_kind=relu(nodes=[{"op": "exec", "text": "import os"}]),
)  # fmt: skip
