"""The one format of launches: what the judge takes from a trace, and from the compiler that compiled
it. Both may say anything."""
from __future__ import annotations

import copy
import functools
import json
import platform
import random
import shutil
import struct
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from compiler_answers import alter, answer, cubin, is_read_or_refused, node, planned, refused

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "cuda")]

from judge import launches, shared_object, traces  # noqa: E402
from judge.judging import Verdict  # noqa: E402
from compiler import native_compiler  # noqa: E402
from native_run import parse, request  # noqa: E402
from shared import native as native_shared  # noqa: E402
from shared import program  # noqa: E402

NATIVE, CUDA, CUTE = (launches.FAMILIES[name] for name in ("native", "cuda", "cute"))
TRITON, TILELANG, HOSTED = (launches.FAMILIES[name] for name in ("triton", "tilelang", "hosted"))
BUFFERS = [{"kind": "new", "bytes": 64, "dtype": "float32"}] * 2
VIEW = {"t": [1, "float32", 4, [2, 2], [2, 1]]}
CALL = {"op": "call", "text": 0, "function": "f", "args": [VIEW, None, -3, 1.5, True]}
KERNEL = {"text": 0, "name": "k", "params": "PPqBfd?"}
LAUNCH = {
    "op": "launch",
    "kernel": 0,
    "grid": [4, 5, 6],
    "options": {"block": [32, 2, 1], "shared": 1024},
    "args": {"p0": VIEW, "p1": None, "p2": -3, "p3": 255, "p4": 1.5, "p5": {"float": "-inf"},
             "p6": True},
}  # fmt: skip
TOOLCHAIN = native_shared.Toolchain(("cc",), ("-O1", "-fPIC"), 60)
TEXT = """
#include <math.h>
#include <stdlib.h>
static const char *const words[] = {"a", "b"};
void f(float *x, float *y, long n, double by, _Bool on)
{
    float *some = malloc(4);
    x[0] = expf(by) + words[n & 1][0] + on + some[0];
    free(some);
}
void g(void) { f(0, 0, 0, 0, 0); }
"""


@functools.cache
def library(text: str = TEXT) -> bytes:
    made = native_compiler.compile_libraries(native_shared.calls(text, [("f", "ppidb")]), TOOLCHAIN)
    return made.partition(b"\n")[2]


def native(nodes: dict | list = CALL, **changes: Any) -> traces.Trace:
    fields = {"nodes": nodes if isinstance(nodes, list) else [nodes], "buffers": BUFFERS,
            "texts": [TEXT], "kernels": []}  # fmt: skip
    return parse(**fields | changes)


def cuda(nodes: dict | list = LAUNCH, **changes: Any) -> traces.Trace:
    return native(nodes, **{"kernels": [KERNEL]} | changes)


def changed(node: dict, *path: Any, to: Any) -> dict:
    made = copy.deepcopy(node)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return made


def taken(trace: traces.Trace, family: launches.Family) -> traces.Trace:
    launches.check_launches(trace, family)
    return trace


# ---- honest ones ------------------------------------------------------------------


def test_a_call_becomes_words() -> None:
    trace = taken(native(), NATIVE)
    made = planned(native_compiler.compile_libraries(request(trace, "native"), TOOLCHAIN), trace, "native", 1024)
    assert [module.kind for module in made.modules] == ["library"]
    assert made.functions == (program.Function(0, "monkeys_call_f"),)
    bits = struct.unpack("<Q", struct.pack("<d", 1.5))[0]
    assert made.calls[1] == (
        program.Call(0, (program.Pointer(2048 + 16), program.Number(8, 0), program.Number(8, 2**64 - 3),
                      program.Number(8, bits), program.Number(8, 1)), ((0, 4096),)),
    )  # fmt: skip


PARAMS = [["p", 0, 0], ["n", 8, 0], ["n", 8, 2**64 - 3], ["n", 1, 255], ["n", 4, 0x3FC00000],
          ["n", 8, 0xFFF0000000000000], ["n", 1, 1]]  # fmt: skip


def test_a_launch_has_parameters_of_their_size() -> None:
    trace = taken(cuda(), CUDA)
    asked = request(trace, "cuda")
    assert asked["launches"][0]["args"]["p0"] == {"t": [0, "float32", [2, 2], [2, 1], True]}
    found = native_compiler._cuda_node(KERNEL, asked["launches"][0])
    assert found == node(PARAMS, grid=[4, 5, 6], block=[32, 2, 1], shared=1024)
    data = answer([[found]], cubin({"k": (8, 8, 8, 1, 4, 8, 1)}))
    [made] = planned(data, trace, "cuda", 1024).calls[1]
    assert (made.grid, made.block, made.shared) == ((4, 5, 6), (32, 2, 1), 1024)
    assert made.params[0] == program.Pointer(2048 + 16) and made.params[3] == program.Number(1, 255)


def test_a_library_is_built_for_each_text_that_is_called() -> None:
    nodes = [changed(CALL, "text", to=2), CALL, changed(CALL, "function", to="g"), CALL]
    nodes[2]["args"] = []
    trace = taken(native(nodes, texts=[TEXT, "", TEXT + "\n"]), NATIVE)
    made = planned(native_compiler.compile_libraries(request(trace, "native"), TOOLCHAIN), trace, "native")
    assert [call.function for call in made.calls[1]] == [0, 1, 2, 1]
    assert [(f.module, f.name) for f in made.functions] == [
        (0, "monkeys_call_f"), (1, "monkeys_call_f"), (1, "monkeys_call_g")]  # fmt: skip


def test_what_differs_in_its_buffers_alone_is_asked_once() -> None:
    other = changed(LAUNCH, "args", "p0", "t", 0, to=0)
    assert len(request(taken(cuda([LAUNCH, other, LAUNCH]), CUDA), "cuda")["launches"]) == 1
    assert len(request(cuda([LAUNCH, changed(LAUNCH, "grid", to=[4, 5, 7])]), "cuda")["launches"]) == 2


def test_host_functions_learn_which_tensors_lie_in_one_buffer() -> None:
    first = {"t": [0, "float32", 0, [2], [1]]}
    trace = native(changed(CALL, "args", to=[VIEW, first, changed(VIEW, "t", 2, to=1)]))
    tensors = [arg["t"] for arg in request(taken(trace, HOSTED), "hosted")["launches"][0]["args"]]
    assert [arg[0] for arg in tensors] == [0, 1, 2]
    assert [arg[-3:] for arg in tensors] == [[0, 16, 64], [1, 0, 64], [0, 4, 64]]


def test_a_reader_is_told_names_and_tensors() -> None:
    for trace, name in ((native(), "f"), (cuda(), "k")):
        [call] = trace.calls
        [launch] = call.launches()
        assert launches.launch_name(trace, launch) == name
        assert [v.buffer for v in launches.views(launch, call)] == [1]


# ---- hostile traces ---------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: native(changed(CALL, "text", to=1)),
        lambda: native(changed(CALL, "text", to=-1)),
        lambda: native(changed(CALL, "text", to=True)),
        lambda: native(changed(CALL, "function", to='f"); system("sh')),
        lambda: native(changed(CALL, "function", to="f\n")),
        lambda: native(changed(CALL, "function", to="é")),
        lambda: native(changed(CALL, "function", to="f" * 4001)),
        lambda: native(changed(CALL, "function", to=None)),
        lambda: native(changed(CALL, "args", to=[None] * 1001)),
        lambda: native(changed(CALL, "args", to={"p0": 1})),
        lambda: native(changed(CALL, "args", 0, to="text")),
        lambda: native(changed(CALL, "args", 0, to=2**64)),
        lambda: native(changed(CALL, "args", 0, to=-(2**63) - 1)),
        lambda: native(changed(CALL, "args", 0, to={"float": "one"})),
        lambda: native(changed(CALL, "args", 0, to={"tuple": [1]})),
        lambda: native(changed(CALL, "args", 0, to={"b": "00"})),
        lambda: native(changed(CALL, "args", 0, "t", 0, to=2)),
        lambda: native(changed(CALL, "args", 0, "t", 2, to=13)),
        lambda: native(changed(CALL, "args", 0, "t", 2, to=-1)),
        lambda: native(changed(CALL, "args", 0, "more", to=1)),
        lambda: native(CALL | {"tuned": [{}]}),
        lambda: native(LAUNCH),
        lambda: native(kernels=[{"name": "k"}]),
        lambda: native(texts=["\ud800"]),
        lambda: native(nodes=[CALL, changed(CALL, "args", 1, to=1)]),
        lambda: native(nodes=[CALL, changed(CALL, "args", to=[])]),
    ],
)
def test_calls_that_no_recorder_tells_are_refused(make: Callable[[], traces.Trace]) -> None:
    for family in (NATIVE, HOSTED):
        with pytest.raises(traces.BadTrace):
            launches.check_launches(make(), family)


@pytest.mark.parametrize(
    "make",
    [
        lambda: cuda(CALL),
        lambda: cuda(changed(LAUNCH, "kernel", to=1)),
        lambda: cuda(changed(LAUNCH, "kernel", to=-1)),
        lambda: cuda(changed(LAUNCH, "kernel", to=[0])),
        lambda: cuda(LAUNCH | {"tuned": [{}]}),
        lambda: cuda(changed(LAUNCH, "grid", to=[0, 1, 1])),
        lambda: cuda(changed(LAUNCH, "grid", to=[1, 65536, 1])),
        lambda: cuda(changed(LAUNCH, "grid", to=[])),
        lambda: cuda(changed(LAUNCH, "grid", to=[1, 1, 1, 1])),
        lambda: cuda(changed(LAUNCH, "grid", to=[1.0, 1, 1])),
        lambda: cuda(changed(LAUNCH, "options", "more", to=1)),
        lambda: cuda(changed(LAUNCH, "options", to=[1])),
        lambda: cuda(changed(LAUNCH, "args", to=[])),
        lambda: cuda(changed(LAUNCH, "args", "p8", to=1)),
        lambda: cuda(changed(LAUNCH, "args", "p0", "t", 2, to=13)),
        lambda: cuda(changed(LAUNCH, "args", "p0", to={"dtype": "fp32"})),
        lambda: cuda(kernels=[KERNEL | {"text": 1}]),
        lambda: cuda(kernels=[KERNEL | {"name": "k<1>"}]),
        lambda: cuda(kernels=[KERNEL | {"more": 1}]),
        lambda: cuda(kernels=[{"text": 0, "name": "k"}]),
    ],
)
def test_launches_that_no_recorder_tells_are_refused(make: Callable[[], traces.Trace]) -> None:
    with pytest.raises((traces.BadTrace, traces.Refused)):
        launches.check_launches(make(), CUDA)


@pytest.mark.parametrize(
    "make",
    [
        lambda: cuda(changed(LAUNCH, "grid", to=[1, 1])),
        lambda: cuda(changed(LAUNCH, "options", "block", to=[1024, 2, 1])),
        lambda: cuda(changed(LAUNCH, "options", "block", to=[1, 1, 65])),
        lambda: cuda(changed(LAUNCH, "options", to={"shared": 0})),
        lambda: cuda(changed(LAUNCH, "options", "shared", to=-1)),
        lambda: cuda(changed(LAUNCH, "options", "shared", to=1 << 20)),
        lambda: cuda(changed(LAUNCH, "args", to={})),
        lambda: cuda(changed(LAUNCH, "args", "p7", to=1)),
        lambda: cuda(changed(LAUNCH, "args", "p0", to=4096)),
        lambda: cuda(changed(LAUNCH, "args", "p2", to=1.0)),
        lambda: cuda(changed(LAUNCH, "args", "p2", to=VIEW)),
        lambda: cuda(changed(LAUNCH, "args", "p2", to=None)),
        lambda: cuda(changed(LAUNCH, "args", "p3", to=256)),
        lambda: cuda(changed(LAUNCH, "args", "p3", to=-1)),
        lambda: cuda(changed(LAUNCH, "args", "p4", to=1)),
        lambda: cuda(changed(LAUNCH, "args", "p4", to=1e39)),
        lambda: cuda(changed(LAUNCH, "args", "p6", to=1)),
        lambda: cuda(kernels=[KERNEL | {"params": "PPqBfdx"}]),
        lambda: cuda(kernels=[KERNEL | {"params": ["P"] * 7}]),
        lambda: cuda([LAUNCH, changed(LAUNCH, "kernel", to=1)], kernels=[KERNEL, KERNEL | {"params": "P"}]),
    ],
)
def test_what_a_compiler_finds_malformed_is_a_bad_trace(
    make: Callable[[], traces.Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge leaves it to the compiler, or to its reader, what a language makes of an argument."""
    monkeypatch.setattr(native_compiler, "_cuda_cubin", lambda *_: (["k"], cubin({"k": (8, 8, 8, 1, 4, 8, 1)})))
    trace = taken(make(), CUDA)
    data = native_compiler.compile_cubins(request(trace, "cuda"), TOOLCHAIN)
    with pytest.raises((traces.BadTrace, traces.Refused)):
        planned(data, trace, "cuda")


# ---- hostile answers --------------------------------------------------------------

MAP = ["m", 0, 0, 7, [2, 4], [8], [2, 4], 0, 0]
EVERY = [["p", 0, 8], ["n", 4, 7], ["w", 256], MAP, ["s", "00" * 200, [[0, ["p", 1, -8]], [64, MAP]]]]
TENSORS = {"p0": {"t": [0, "float32", 0, [4], [1]]}, "p1": {"t": [1, "float32", 8, [4], [1]]}}
NODE = node(EVERY, scratch=512)


def launched() -> traces.Trace:
    """Of a kernel with parameters of every kind."""
    return taken(cuda(LAUNCH | {"args": TENSORS}), CUDA)


@functools.cache
def honest() -> bytes:
    return answer([[NODE]], cubin({"k": (8, 4, 8, 128, 200)}))


def of_node(**changes: Any) -> Callable[[dict], None]:
    return lambda header: header["launches"][0]["nodes"][0].update(changes)


def of_param(index: int, *path: Any, to: Any) -> Callable[[dict], None]:
    def change(header: dict) -> None:
        at = header["launches"][0]["nodes"][0]["params"]
        for step in (index, *path)[:-1]:
            at = at[step]
        at[(index, *path)[-1]] = to

    return change


def test_every_kind_of_parameter_has_its_place() -> None:
    [made] = planned(honest(), launched(), "cuda", 1024).calls[1]
    tile = program.TensorMap(1024, 7, (2, 4), (8,), (2, 4), 0, 0)
    assert made.params == (
        program.Pointer(1032), program.Number(4, 7), program.Pointer((1 << 50) + 256), tile,
        program.Struct(bytes(200), ((0, program.Pointer(2048 + 24)), (64, tile))),
    )  # fmt: skip


LIES: dict[str, Callable[[dict], object]] = {
    "an address behind its buffer": of_param(0, 2, to=65),
    "an address before its buffer": of_param(4, 2, 0, 1, 2, to=-33),
    "an address in no tensor": of_param(0, 1, to=2),
    "an address in tensor -1": of_param(0, 1, to=-1),
    "an address in a text": of_param(0, 1, to="0"),
    "an address in scratch memory that is not there": of_param(2, 1, to=513),
    "an address before the scratch memory": of_param(2, 1, to=-8),
    "scratch memory that is negative": of_node(scratch=-1),
    "more scratch memory than there is": of_node(scratch=1 << 40),
    "a number that is too large": of_param(1, 2, to=1 << 32),
    "a number of nine bytes": of_param(1, 1, to=9),
    "a number of no bytes": of_param(1, 1, to=0),
    "a map that starts outside": of_param(3, 2, to=40),
    "a map that starts before": of_param(3, 2, to=-8),
    "a map too tall": of_param(3, 4, to=[2, 1 << 31]),
    "a map of wide steps": of_param(3, 5, to=[1 << 39]),
    "a map of no type": of_param(3, 3, to=13),
    "a map of wider elements": of_param(3, slice(3, 5), to=[8, [4, 8]]),
    "a map of six dimensions": of_param(3, slice(4, 7), to=[[1] * 6, [16] * 5, [1] * 6]),
    "a map of no dimensions": of_param(3, slice(4, 7), to=[[], [], []]),
    "a map without strides": of_param(3, 5, to=[]),
    "a giant box": of_param(3, 6, to=[257, 8]),
    "an unknown swizzle": of_param(3, 7, to=4),
    "an unknown fill": of_param(3, 8, to=2),
    "a patch that is a number": of_param(4, 2, 0, 1, to=["n", 8, 0]),
    "a patch that is a structure": of_param(4, 2, 0, 1, to=["s", "00" * 8, []]),
    "a patch in scratch memory": of_param(4, 2, 0, 1, to=["w", 0]),
    "a patch behind its bytes": of_param(4, 2, 1, 0, to=128),
    "a patch between words": of_param(4, 2, 0, 0, to=4),
    "a map between its places": of_param(4, 2, 1, 0, to=8),
    "a patch in another": of_param(4, 2, 0, 0, to=72),
    "a patch at a text": of_param(4, 2, 0, 0, to="0"),
    "a structure without bytes": of_param(4, 1, to=""),
    "a structure of no bytes": of_param(4, 1, to="zz"),
    "a structure that is too short": of_param(4, 1, to="00" * 192),
    "a giant structure": of_param(4, 1, to="00" * 32765),
    "one parameter more": lambda header: header["launches"][0]["nodes"][0]["params"].append(["n", 8, 0]),
    "one parameter less": lambda header: header["launches"][0]["nodes"][0]["params"].pop(),
    "no parameters": of_node(params=[]),
    "a parameter of another kind": of_param(1, to=["t", 0, 0]),
    "a parameter that is a text": of_param(1, to="n"),
    "too many parameters": of_node(params=[["n", 8, 0]] * 1025),
    "a block too large": of_node(block=[1024, 2, 1]),
    "a grid of 0": of_node(grid=[0, 1, 1]),
    "a grid of two": of_node(grid=[1, 1]),
    "a grid of a number": of_node(grid=1),
    "a giant cluster": of_node(cluster=[32, 1, 1]),
    "a cluster of 32": of_node(cluster=[16, 2, 1]),
    "much shared memory": of_node(shared=1 << 20),
    "a flag that is none": of_node(pdl=1),
    "a launch without a block": lambda header: header["launches"][0]["nodes"][0].pop("block"),
    "an unknown function": of_node(function=1),
    "function -1": of_node(function=-1),
    "a function that is true": of_node(function=True),
    "too many launches": lambda header: header["launches"][0].update(nodes=[NODE] * 1001),
    "no answer": lambda header: header["launches"].clear(),
    "two answers": lambda header: header["launches"].append(header["launches"][0]),
    "an answer of nothing": lambda header: header["launches"].__setitem__(0, {}),
    "an answer that is a number": lambda header: header["launches"].__setitem__(0, 5),
    "an error": lambda header: header["launches"].__setitem__(0, {"error": "no"}),
    "an error that is no text": lambda header: header["launches"].__setitem__(0, {"error": 5}),
    "answers that are a number": lambda header: header.update(launches=5),
    "a library that is a cubin": lambda header: header["modules"][0].update(kind="library"),
    "a module of another kind": lambda header: header["modules"][0].update(kind="ptx"),
    "a module of another size": lambda header: header["modules"][0].update(bytes=64),
    "a module of no bytes": lambda header: header["modules"][0].update(bytes=0),
    "a module twice": lambda header: header["modules"].append(header["modules"][0]),
    "no modules": lambda header: header["modules"].clear(),
    "a function without a module": lambda header: header["functions"][0].update(module=1),
    "a function of module -1": lambda header: header["functions"][0].update(module=-1),
    "a function that the cubin lacks": lambda header: header["functions"][0].update(name="other"),
    "a name with blanks": lambda header: header["functions"][0].update(name="k k"),
    "a name that is a number": lambda header: header["functions"][0].update(name=5),
    "a long name": lambda header: header["functions"][0].update(name="k" * 4001),
    "no functions": lambda header: header["functions"].clear(),
    "a malformed trace": lambda header: header.update(malformed="it says"),
    "a malformed trace that is no text": lambda header: header.update(malformed=[]),
}


@pytest.mark.parametrize("what", LIES)
def test_a_forged_answer_is_refused(what: str) -> None:
    refused(honest(), launched(), "cuda", LIES[what])


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["launches"][0]["nodes"][0]["params"].__setitem__(0, ["w", 0]),
        lambda header: header["launches"][0]["nodes"][0]["params"].__setitem__(0, MAP),
        lambda header: header["launches"][0]["nodes"][0]["params"].__setitem__(0, ["s", "00" * 8, []]),
        lambda header: header["launches"][0]["nodes"][0]["params"].__setitem__(0, ["p", 0, 49]),
        lambda header: header["modules"][0].update(kind="cubin"),
    ],
)
def test_a_library_gets_addresses_and_numbers_alone(change: Callable[[dict], object]) -> None:
    trace = taken(native(), NATIVE)
    data = native_compiler.compile_libraries(request(trace, "native"), TOOLCHAIN)
    refused(data, trace, "native", change)


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"{}\n", b"[]\n", b"5\n", b'"malformed"\n', b"\xff\n", b"[" * 100_000 + b"\n",
     b'{"modules":' + b"[" * 5000 + b"]" * 5000 + b"}\n", b"MZ\n"],
)  # fmt: skip
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    for trace, family in ((native(), NATIVE), (cuda(), CUDA)):
        with pytest.raises(traces.BadTrace):
            launches.Built.parse(data, trace, family)


def test_bytes_before_and_behind_an_answer_are_refused() -> None:
    for data in (honest() + b"x", honest()[:-1], b" " * traces.ANSWER_BYTES + honest()):
        with pytest.raises((traces.BadTrace, traces.Refused)):
            launches.Built.parse(data, launched(), CUDA)


def test_a_trace_cannot_fill_the_judges_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand launches for each of the calls, and each configuration of a tuner."""
    monkeypatch.setattr(program, "NODES", 1500)
    trace = taken(cuda([LAUNCH | {"args": TENSORS}] * 2), CUDA)
    data = answer([[NODE] * 1000], cubin({"k": (8, 4, 8, 128, 200)}))
    with pytest.raises(traces.Refused, match="more than"):
        planned(data, trace, "cuda")


# ---- an autotuner -----------------------------------------------------------------


def tuned(*grids: int, family: launches.Family = TRITON) -> traces.Trace:
    configs = [{"grid": [g], "args": {"p0": VIEW}, "options": {}} for g in grids]
    kernel = {"name": "k", "line": 1}
    if family is TILELANG:
        kernel = {"name": "k", "text": 0, "configs": {}, "flags": []}
    return taken(cuda({"op": "launch", "kernel": 0, **configs[0], "tuned": configs}, kernels=[kernel]), family)


def test_configurations_that_fail_are_left_out_and_another_runs() -> None:
    data = answer([[node([["p", 0, 0]], grid=[g, 1, 1])] for g in (1, 2, 3)], cubin({"k": (8,)}))
    data = data.replace(json.dumps({"nodes": [node([["p", 0, 0]], grid=[2, 1, 1])]}).encode(),
                        b'{"error": "no"}')  # fmt: skip
    for family in (TRITON, TILELANG):
        built = launches.Built.parse(data, tuned(1, 2, 3, family=family), family)
        [call] = (trace := tuned(1, 2, 3, family=family)).calls
        chosen = [built.chosen(call.launches()[0], c, call, family) for c in (0, 1, 2, 9)]
        assert [(c, nodes[0].grid[0]) for c, nodes in chosen] == [(0, 1), (0, 1), (2, 3), (2, 3)]
        assert launches.requests(trace, family)["groups"] == [[0, 1, 2]]


def test_a_launch_of_which_nothing_compiled_is_refused() -> None:
    data = answer([[], []], cubin({"k": (8,)})).replace(b'{"nodes": []}', b'{"error": "no"}')
    built, trace = launches.Built.parse(data, tuned(1, 2), TRITON), tuned(1, 2)
    with pytest.raises(traces.BadTrace, match="not compiled"):
        built.chosen(trace.steady.launches()[0], 0, trace.steady, TRITON)


def test_scratch_memory_is_that_of_the_launch_that_needs_most() -> None:
    data = answer([[node([], scratch=n)] for n in (300, 7)], cubin())
    assert launches.Built.parse(data, tuned(1, 2), TRITON).scratch() == 300
    data = answer([[node([], scratch=n)] for n in (300, 8 << 30)], cubin())
    with pytest.raises(traces.Refused, match="scratch"):
        launches.Built.parse(data, tuned(1, 2), TRITON).scratch()


# ---- damaged answers --------------------------------------------------------------


def test_a_damaged_answer_is_read_or_refused() -> None:
    is_read_or_refused(honest(), launched(), "cuda", 1000)


def test_a_damaged_answer_of_a_c_compiler_is_read_or_refused() -> None:
    trace = taken(native([CALL, changed(CALL, "args", 3, to=2.5)]), NATIVE)
    data = native_compiler.compile_libraries(request(trace, "native"), TOOLCHAIN)
    is_read_or_refused(data, trace, "native", 400)


@pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
def test_a_damaged_answer_of_nvcc_is_read_or_refused() -> None:
    import cuda_build

    text = ("__global__ void k(float *x, float *y, long long n, unsigned char b, float f, double d, bool s)\n"
            "{ x[n] = b + f + d + s; }\n")  # fmt: skip
    trace = taken(cuda([LAUNCH, changed(LAUNCH, "grid", to=[1, 1, 1])], texts=[text]), CUDA)
    data = native_compiler.compile_cubins(request(trace, "cuda"), cuda_build.toolchain("sm_90"))
    is_read_or_refused(data, trace, "cuda", 400)


def test_a_damaged_trace_is_read_or_refused() -> None:
    """And what is taken can be asked of a compiler."""
    chance, good = random.Random(1), 0
    for family, kernels, node in ((NATIVE, [], CALL), (CUDA, [KERNEL], LAUNCH), (HOSTED, [], CALL)):
        for _ in range(300):
            raw = copy.deepcopy({"nodes": [node, node], "kernels": kernels})
            alter(raw, chance)
            try:
                trace = parse(raw.get("nodes"), BUFFERS, ["…"], raw.get("kernels"))
                launches.check_launches(trace, family)
                good += 1
            except (traces.BadTrace, traces.Refused):
                continue
            json.dumps(launches.requests(trace, family))
    assert 50 < good < 850


# ---- hostile libraries ------------------------------------------------------------


def words_at(data: bytes, form: str, at: int) -> tuple:
    return struct.unpack_from(form, data, at)


def with_word(data: bytes, form: str, at: int, value: int) -> bytes:
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


def header_at(data: bytes, kind: int, flags: int = 0) -> int:
    """Where the program header of that kind lies, which has these flags."""
    start, count = words_at(data, "<Q", 32)[0], words_at(data, "<H", 56)[0]
    places = [start + 56 * i for i in range(count)]
    return next(at for at in places if words_at(data, "<II", at) == (kind, flags or words_at(data, "<I", at + 4)[0]))


def tag_at(data: bytes, tag: int) -> int:
    at = words_at(data, "<Q", header_at(data, 2) + 8)[0]
    return next(a for a in range(at, len(data), 16) if words_at(data, "<Q", a)[0] == tag)


def test_a_library_that_keeps_nothing_is_taken() -> None:
    shared_object.check_library(library())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of another processor")
def test_of_functions_of_vectors_those_of_mathematics_are_taken() -> None:
    text = TEXT.replace("expf(by)", "_ZGVbN4v_expf((__m128){by})[0]")
    data = library("#include <immintrin.h>\n__m128 _ZGVbN4v_expf(__m128);\n" + text)
    shared_object.check_library(data)
    for name in (b"_ZGVbN4v_rand", b"_ZGVbN4v_free", b"_ZGVbN4u_expf", b"xZGVbN4v_expf"):
        with pytest.raises(shared_object.NotPure, match=name.decode()):
            shared_object.check_library(data.replace(b"_ZGVbN4v_expf\0", name + b"\0"))


@pytest.mark.parametrize("change", [
    lambda d: with_word(d, "<I", header_at(d, 0x6474E552), 4),  # nothing becomes read-only
    lambda d: with_word(d, "<Q", header_at(d, 0x6474E552) + 40, 8),  # ... or little of it
    lambda d: with_word(d, "<I", header_at(d, 1, 5) + 4, 7),  # code that can be written
    lambda d: with_word(d, "<I", header_at(d, 0x6474E551) + 4, 7),  # a stack that can be executed
    lambda d: with_word(d, "<Q", header_at(d, 1, 6) + 40, 1 << 20),  # memory behind it
    lambda d: with_word(d, "<Q", tag_at(d, 30), 12),  # a function for the start
    lambda d: with_word(d, "<Q", tag_at(d, 30), 25),  # ... or several
    lambda d: with_word(d, "<Q", tag_at(d, 30), 0x6FFFFEF5),  # another hash
    lambda d: with_word(d, "<Q", tag_at(d, 30), 29),  # a folder to search
    lambda d: with_word(d, "<Q", tag_at(d, 30), 5),  # other names
    lambda d: with_word(d, "<Q", tag_at(d, 4), 36),  # no hash
    lambda d: with_word(d, "<I", relocation_at(d) + 8, 37),  # a function that is asked for an address
    lambda d: with_word(d, "<Q", relocation_at(d), 1 << 40),  # memory elsewhere
    lambda d: d.replace(b"expf\0", b"rand\0"),
    lambda d: d.replace(b"libm.so.6\0", b"libM.so.6\0"),
])  # fmt: skip
def test_a_library_that_keeps_or_runs_anything_is_refused(change: Callable[[bytes], bytes]) -> None:
    with pytest.raises((shared_object.BadLibrary, shared_object.NotPure)):
        shared_object.check_library(change(library()))
    with pytest.raises((traces.BadTrace, Verdict)):
        launches.Built.parse(answer([], change(library())), native(), NATIVE)


@pytest.mark.parametrize("change", [
    {"text": 1}, {"text": None}, {"source": 1}, {"source": '#include "kernel.c"'}, {"source": "int x = __COUNTER__;"},
    {"options": None}, {"options": ["cc", "-I /tmp"]}, {"options": ["cc", "-fplugin=/tmp/x.so"]},
    {"options": ["cc\n"]}, {"options": ["cc"] * 2000},
])  # fmt: skip
def test_a_compiler_that_says_something_else_of_its_work_is_refused(change: dict) -> None:
    trace = native()
    said = native_compiler.compile_libraries(launches.requests(trace, NATIVE) | {"texts": trace.texts}, TOOLCHAIN)
    head, _, data = said.partition(b"\n")
    header = json.loads(head)
    [(source, options)] = launches.Built.parse(said, trace, NATIVE).sources.values()
    assert "malloc(4)" in source and options[:3] == ("cc", "-O1", "-fPIC")
    header["modules"][0] |= change
    with pytest.raises(traces.BadTrace):
        launches.Built.parse(json.dumps(header).encode() + b"\n" + data, trace, NATIVE)


def relocation_at(data: bytes) -> int:
    return words_at(data, "<Q", tag_at(data, 7) + 8)[0]  # in a segment that lies as in the file


def test_a_damaged_library_is_taken_or_refused() -> None:
    """Nothing else happens, whatever is damaged."""
    data, generator = library(), random.Random(3)
    for _ in range(3000):
        at = generator.choice([generator.randrange(1200), generator.randrange(len(data))])
        damaged = with_word(data[: generator.choice([len(data), len(data), at + 8])].ljust(at + 8), "<Q", at,
                            generator.choice([0, 1, 1 << 63, (1 << 64) - 1, generator.getrandbits(64)]))  # fmt: skip
        try:
            shared_object.check_library(damaged)
        except (shared_object.BadLibrary, shared_object.NotPure):
            pass
