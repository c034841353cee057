"""What the judge takes from a trace of native calls or of CUDA launches, and from the
lane that built them: both may say anything."""
from __future__ import annotations

import copy
import functools
import json
import random
import struct
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker")]

from judge import cuda_plan, native_plan, shared_object, traces  # noqa: E402
from judge.judging import Verdict  # noqa: E402
from lane import native_lane  # noqa: E402
from native_run import parse  # noqa: E402
from shared import native as native_shared  # noqa: E402
from shared import plan  # noqa: E402

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
ELF = b"\x7fELF and so on"
TOOLCHAIN = native_shared.Toolchain(("cc",), ("-O1", "-fPIC"), ("-shared", "-save-temps", "-lm"), 60)
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
    told = {"texts": [text], "objects": [{"text": 0, "launches": [["f", "ppidb"]]}]}
    [made] = native_plan.split(native_lane.libraries(told, TOOLCHAIN), 1)[1]
    return made


def native(node: dict = CALL, **changes: Any) -> traces.Trace:
    told = {"nodes": [node], "buffers": BUFFERS, "texts": ["void f();"], "kernels": []} | changes
    return parse(**told)


def cuda(node: dict = LAUNCH, **changes: Any) -> traces.Trace:
    told = {"nodes": [node], "buffers": BUFFERS, "texts": ["…"], "kernels": [KERNEL]} | changes
    return parse(**told)


def answer(*objects: bytes, **head: Any) -> bytes:
    told = {"sizes": [len(data) for data in objects]} | head
    return json.dumps(told).encode() + b"\n" + b"".join(objects)


def changed(node: dict, *path: Any, to: Any) -> dict:
    made = copy.deepcopy(node)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return made


# ---- honest ones ------------------------------------------------------------------


def test_a_call_becomes_words() -> None:
    trace = native()
    native_plan.check(trace)
    [asked] = native_plan.requests(trace)["objects"]
    assert asked["text"] == 0 and asked["launches"] == [["f", "ppidb"]]
    [[name, args]] = asked["calls"]  # what a float is does not change what is compiled
    assert name == "f" and args[1:] == [None, -3, "float", True]
    maker = native_plan.Maker(trace, native_plan.Built.parse(answer(library()), trace), 0)
    assert maker.modules() == (plan.Module("library", library()),)
    assert maker.functions() == (plan.Function(0, "monkeys_call_f"),)
    [call] = trace.calls
    bits = struct.unpack("<Q", struct.pack("<d", 1.5))[0]
    assert maker.node(call.launches()[0], call, [256, 1024], 0) == plan.Call(
        0,
        (
            plan.Pointer(1024 + 16),
            plan.Number(8, 0),
            plan.Number(8, 2**64 - 3),
            plan.Number(8, bits),
            plan.Number(8, 1),
        ),
    )


def test_a_launch_has_parameters_of_their_size() -> None:
    trace = cuda()
    cuda_plan.check(trace)
    assert cuda_plan.requests(trace) == {
        "objects": [{"text": 0, "launches": [["k", "PPqBfd?"]]}]
    }
    built = cuda_plan.Built((ELF,), ((0, "_Z1kPf", (0, "k")),))
    maker = cuda_plan.Maker(trace, built, 0)
    assert maker.modules() == (plan.Module("cubin", ELF),)
    assert maker.functions() == (plan.Function(0, "_Z1kPf"),)
    [call] = trace.calls
    assert maker.node(call.launches()[0], call, [256, 1024], 0) == plan.Launch(
        function=0,
        grid=(4, 5, 6),
        block=(32, 2, 1),
        shared=1024,
        params=(
            plan.Pointer(1024 + 16),
            plan.Number(8, 0),
            plan.Number(8, 2**64 - 3),
            plan.Number(1, 255),
            plan.Number(4, 0x3FC00000),
            plan.Number(8, 0xFFF0000000000000),
            plan.Number(1, 1),
        ),
    )


def test_only_dense_memory_has_a_shape_that_a_head_can_promise() -> None:
    across = changed(CALL, "args", 0, to={"t": [1, "float32", 4, [2, 2], [1, 2]]})
    [asked] = native_plan.requests(parse([CALL, across], BUFFERS, ["void f();"], []))["objects"]
    assert [args[0] for _, args in asked["calls"]] == [["float32", [2, 2]], None]


def test_a_library_is_built_for_each_text_that_is_called() -> None:
    nodes = [changed(CALL, "text", to=2), CALL, changed(CALL, "function", to="g"), CALL]
    trace = parse(nodes, BUFFERS, ["a", "b", "c"], [])
    native_plan.check(trace)
    told = native_plan.requests(trace)["objects"]
    assert [t["text"] for t in told] == [2, 0]
    assert [name for name, _ in told[1]["launches"]] == ["f", "g"]
    built = native_plan.Built.parse(answer(library(), library() + b"!"), trace)
    maker = native_plan.Maker(trace, built, 0)
    [call] = trace.calls
    made = [maker.node(n, call, [0, 256], 0).function for n in call.launches()]
    assert made == [0, 1, 2, 1]
    assert [f.module for f in maker.functions()] == [0, 1, 1]


def test_a_reader_is_told_names_and_tensors() -> None:
    for family, trace, name in ((native_plan, native(), "f"), (cuda_plan, cuda(), "k")):
        [call] = trace.calls
        [launch] = call.launches()
        assert family.name(trace, launch) == name
        assert [v.buffer for v in family.views(launch, call)] == [1]


# ---- hostile ones -----------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: native(changed(CALL, "text", to=1)),
        lambda: native(changed(CALL, "text", to=-1)),
        lambda: native(changed(CALL, "text", to=True)),
        lambda: native(changed(CALL, "function", to='f"); system("sh')),
        lambda: native(changed(CALL, "function", to="f\n")),
        lambda: native(changed(CALL, "function", to="é")),
        lambda: native(changed(CALL, "function", to="f" * 201)),
        lambda: native(changed(CALL, "function", to=None)),
        lambda: native(changed(CALL, "args", to=[None] * 129)),
        lambda: native(changed(CALL, "args", to={"p0": 1})),
        lambda: native(changed(CALL, "args", 0, to="text")),
        lambda: native(changed(CALL, "args", 0, to=2**64)),
        lambda: native(changed(CALL, "args", 0, to=-(2**63) - 1)),
        lambda: native(changed(CALL, "args", 0, to={"float": "one"})),
        lambda: native(changed(CALL, "args", 0, to={"tuple": [1]})),
        lambda: native(changed(CALL, "args", 0, "t", 0, to=2)),
        lambda: native(changed(CALL, "args", 0, "t", 2, to=13)),
        lambda: native(changed(CALL, "args", 0, "t", 2, to=-1)),
        lambda: native(CALL | {"tuned": [{}]}),
        lambda: native(LAUNCH),
        lambda: native(kernels=[{"name": "k"}]),
        lambda: native(texts=["\ud800"]),
        lambda: native(nodes=[CALL, changed(CALL, "args", 1, to=1)]),
        lambda: native(nodes=[CALL, changed(CALL, "args", to=[])]),
    ],
)
def test_calls_that_no_recorder_tells_are_refused(make: Callable[[], traces.Trace]) -> None:
    with pytest.raises(traces.BadTrace):
        native_plan.check(make())


@pytest.mark.parametrize(
    "make",
    [
        lambda: cuda(CALL),
        lambda: cuda(changed(LAUNCH, "kernel", to=1)),
        lambda: cuda(changed(LAUNCH, "kernel", to=-1)),
        lambda: cuda(LAUNCH | {"tuned": [{}]}),
        lambda: cuda(changed(LAUNCH, "grid", to=[0, 1, 1])),
        lambda: cuda(changed(LAUNCH, "grid", to=[1, 65536, 1])),
        lambda: cuda(changed(LAUNCH, "grid", to=[1, 1])),
        lambda: cuda(changed(LAUNCH, "grid", to=[1, 1, 1, 1])),
        lambda: cuda(changed(LAUNCH, "grid", to=[1.0, 1, 1])),
        lambda: cuda(changed(LAUNCH, "options", "block", to=[1024, 2, 1])),
        lambda: cuda(changed(LAUNCH, "options", "block", to=[1, 1, 65])),
        lambda: cuda(changed(LAUNCH, "options", "shared", to=-1)),
        lambda: cuda(changed(LAUNCH, "options", "shared", to=1 << 20)),
        lambda: cuda(changed(LAUNCH, "options", "more", to=1)),
        lambda: cuda(changed(LAUNCH, "options", to=[1])),
        lambda: cuda(changed(LAUNCH, "args", to={})),
        lambda: cuda(changed(LAUNCH, "args", "p7", to=1)),
        lambda: cuda(changed(LAUNCH, "args", "p0", to=4096)),
        lambda: cuda(changed(LAUNCH, "args", "p0", "t", 2, to=13)),
        lambda: cuda(changed(LAUNCH, "args", "p2", to=1.0)),
        lambda: cuda(changed(LAUNCH, "args", "p2", to=VIEW)),
        lambda: cuda(changed(LAUNCH, "args", "p3", to=256)),
        lambda: cuda(changed(LAUNCH, "args", "p3", to=-1)),
        lambda: cuda(changed(LAUNCH, "args", "p4", to=1)),
        lambda: cuda(changed(LAUNCH, "args", "p4", to=1e39)),
        lambda: cuda(changed(LAUNCH, "args", "p6", to=1)),
        lambda: cuda(kernels=[KERNEL | {"text": 1}]),
        lambda: cuda(kernels=[KERNEL | {"name": "k<1>"}]),
        lambda: cuda(kernels=[KERNEL | {"params": "PPqBfdx"}]),
        lambda: cuda(kernels=[KERNEL | {"params": ["P"] * 7}]),
        lambda: cuda(kernels=[KERNEL | {"more": 1}]),
        lambda: cuda(kernels=[KERNEL, KERNEL]),
    ],
)
def test_launches_that_no_recorder_tells_are_refused(make: Callable[[], traces.Trace]) -> None:
    with pytest.raises(traces.BadTrace):
        cuda_plan.check(make())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"{}\n" + ELF,
        b"[]\n" + ELF,
        b"[" * 100000 + b"\n",
        answer(),
        answer(ELF, ELF),
        answer(ELF, sizes=[len(ELF) + 1]),
        answer(ELF, sizes=[len(ELF) - 1]),
        answer(ELF, sizes=[-1]),
        answer(ELF, sizes=["1"]),
        answer(b"MZ and so on"),
    ],
)
def test_answers_that_no_lane_gives_are_refused(data: bytes) -> None:
    with pytest.raises(traces.BadTrace):
        native_plan.Built.parse(data, native())
    with pytest.raises(traces.BadTrace):
        cuda_plan.Built.parse(data, cuda())


@pytest.mark.parametrize(
    "entries",
    [None, [], [[]], [["a"], ["b"]], [["a", "b"]], [[1]], [["a b"]], [["a\0"]], [["a" * 4001]], ["a"]],
)
def test_symbols_that_no_compiler_makes_are_refused(entries: object) -> None:
    with pytest.raises(traces.BadTrace):
        cuda_plan.Built.parse(answer(ELF, entries=entries), cuda())


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
    shared_object.check(library())


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
        shared_object.check(change(library()))
    with pytest.raises((traces.BadTrace, Verdict)):
        native_plan.Built.parse(answer(change(library())), native())


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
            shared_object.check(damaged)
        except (shared_object.BadLibrary, shared_object.NotPure):
            pass
