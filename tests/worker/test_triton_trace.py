"""Traces of the Triton family, which an interpreter gets beside the data: hostile ones are refused.
And cubins."""
from __future__ import annotations

import copy
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiler_answers import cubin as elf
from launching import kernel, launch, source, trace, vector

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

from judge import cubin, launches, summary, traces  # noqa: E402
from judge.traces import BadTrace, Refused  # noqa: E402

TRITON = launches.FAMILIES["triton"]
TEXT = source("""
    def k(x, y, n, B: tl.constexpr):
        pass
""")
VIEW = [0, "float32", 0, [16, 16], [16, 1]]
DESC = [VIEW, [16, 16], [16, 1], [16, 16], "zero"]
SIZES = (1024, 1024)


def parsed(kernels: list[dict], nodes: list[dict]) -> traces.Trace:
    return traces.parse_trace(traces.header(trace(kernels, nodes, *SIZES)), [], {})


def one(args: dict | None = None, **more: object) -> traces.Trace:
    values = args if args is not None else {"x": vector(0, 64), "y": vector(1, 64), "n": 5, "B": 64}
    return parsed([kernel(TEXT)], [launch(values, **more)])


# ---- what a trace may say ------------------------------------------------------------


def test_an_honest_launch_is_accepted() -> None:
    launches.check_launches(one(), TRITON)
    launches.check_launches(one({
        "x": {"tuple": [vector(0, 4), 1, {"tuple": [None, "text", True]}]}, "y": {"desc": list(DESC)},
        "n": {"float": "inf"}, "d": {"dtype": "pointer<fp32>"}, "f": {"kernel": 0},
        "r": {"reinterpret": [VIEW, "fp8e4nv"]}, "l": {"layout": ["AutoLayout", {}]},
    }, num_warps=8, num_stages=3, launch_pdl=True, default_dot_input_precision="ieee"), TRITON)  # fmt: skip


@pytest.mark.parametrize(
    "arg",
    [
        {"t": [0, "float32", 0, [257], [1]]}, {"t": [2, "float32", 0, [1], [1]]},
        {"t": [0, "float32", -1, [1], [1]]}, {"t": [0, "float32", 0, [2], [-1]]},
        {"t": [0, "float32", 0, [2**40, 2**40], [2**40, 1]]}, {"t": VIEW, "u": 1}, {"t": "x"}, {},
        {"t": [0, "object", 0, [1], [1]]}, {"pickle": "x"}, {"module": "os"}, [1], 2**70,
        {"kernel": 1}, {"kernel": -1}, {"dtype": "os.system"}, {"dtype": 5}, {"float": "1e5"},
        {"layout": ["object", {}]}, {"layout": ["AutoLayout", {"__init__": 1}]}, {"tuple": 5},
        {"layout": ["SliceLayout", {"parent": {"t": VIEW}}]}, {"reinterpret": [VIEW, "x<y"]},
        {"reinterpret": [[0, "float32", 300, [1], [1]], "fp32"]},
        {"desc": [VIEW, [16, 17], [16, 1], [16, 16], "zero"]},
        {"desc": [VIEW, [2**20, 2**20], [16, 1], [16, 16], "zero"]},
        {"desc": [VIEW, [16, 16], [16, 2], [16, 16], "zero"]},
        {"desc": [VIEW, [16, 16], [3, 1], [16, 16], "zero"]},
        {"desc": [VIEW, [16], [16, 1], [16, 16], "zero"]},
        {"desc": [VIEW, [16, 16], [16, 1], [16, 16], "evil"]},
        {"desc": [VIEW, [0, 16], [16, 1], [16, 16], "zero"]}, {"desc": [VIEW]},
        {"desc": [[0, "float32", 1, [4], [1]], [4], [1], [4], "zero"]},
        {"desc": [*DESC, {"layout": ["Evil", {}]}, False]}, {"desc": [*DESC, None, 7]},
    ],
)  # fmt: skip
def test_an_argument_of_another_form_or_outside_its_buffer_is_refused(arg: object) -> None:
    with pytest.raises((BadTrace, Refused)):
        launches.check_launches(one({"x": copy.deepcopy(arg)}), TRITON)


@pytest.mark.parametrize(
    "change",
    [
        {"grid": []}, {"grid": [1, 1, 1, 1]}, {"grid": [-1]}, {"grid": [2**31]}, {"grid": [1, 65536]},
        {"grid": ["1"]}, {"grid": [True]}, {"kernel": 1}, {"kernel": None}, {"args": []},
        {"args": {"__class__": 1}}, {"args": {"a b": 1}}, {"options": {"extern_libs": {"a": "/b"}}},
        {"options": {"ir_override": "/tmp/x.ttir"}}, {"options": {"num_warps": 1.5}},
        {"options": {"num_warps": 1025}}, {"options": {"num_ctas": 17}}, {"options": None},
        {"options": {"default_dot_input_precision": "x"}}, {"op": "call"},
    ],
)  # fmt: skip
def test_a_launch_of_another_form_is_refused(change: dict) -> None:
    node = launch({"x": vector(0, 64)}) | change
    with pytest.raises(BadTrace):
        launches.check_launches(parsed([kernel(TEXT)], [node]), TRITON)


def test_a_grid_without_programs_is_a_refusal_with_a_name() -> None:
    with pytest.raises(Refused) as caught:
        launches.check_launches(one({"x": vector(0, 64)}, grid=[4, 0]), TRITON)
    assert caught.value.rule == "grid-empty"


@pytest.mark.parametrize(
    "change",
    [
        {"name": "__k"}, {"name": "a.b"}, {"name": 5}, {"line": "1"}, {"line": -1},
        {"bind": {"__builtins__": {"value": 1}}}, {"bind": {"x": {"kernel": 9}}}, {"bind": []},
        {"bind": {"x": {"exec": "1"}}}, {"bind": {"x": {"value": [1]}}}, {"bind": {"x": 5}},
        {"bind": {"x": {"from": ["os", "a.b"]}}}, {"bind": {"x": {"module": "a;b"}}},
        {"bind": {"x": {"constexpr": {"tuple": [{"value": 2**80}]}}}}, {"language": "python"},
        {"defaults": {"__x": {"value": 1}}}, {"noinline": "yes"}, {"do_not_specialize": ["__a"]},
    ],
)  # fmt: skip
def test_a_kernel_of_another_form_is_refused(change: dict) -> None:
    with pytest.raises(BadTrace):
        launches.check_launches(parsed([kernel(TEXT) | change], [launch({"x": vector(0, 64)})]), TRITON)


def test_configurations_are_bounded_and_each_is_checked() -> None:
    good = {"grid": [1], "args": {"x": vector(0, 64)}, "options": {}}
    bad = good | {"args": {"x": vector(0, 640)}}
    launches.check_launches(one(good["args"], tuned=[good] * 64), TRITON)
    for tuned in ([good] * 65, [good, bad]):
        with pytest.raises(BadTrace):
            launches.check_launches(one(good["args"], tuned=tuned), TRITON)


def test_a_compiler_learns_of_tensors_only_their_dtype_and_alignment() -> None:
    trace = one({"x": vector(0, 64, offset=5), "y": {"desc": list(DESC)}})
    launches.check_launches(trace, TRITON)
    (asked,) = launches.requests(trace, TRITON)["launches"]
    assert asked["args"]["x"] == {"t": [0, "float32", 4]}
    assert asked["args"]["y"]["desc"][0] == [1, "float32", 0]


# ---- what a reader is told -----------------------------------------------------------


def test_the_bytes_of_a_call_are_those_of_its_tensors() -> None:
    """A fill writes y, a kernel writes it from x, which is expanded, another reads it for z."""
    buffers = [{"kind": "new", "bytes": 1024, "dtype": "float32"}] * 2
    fill = {"op": "fill", "to": [0, "float32", 0, [64], [1]], "value": 0}
    nodes = [fill, launch({"x": {"t": [2, "float32", 0, [32, 2], [0, 1]]}, "y": vector(0, 64)}),
             launch({"y": vector(0, 64), "z": vector(1, 32)}, grid=[2])]  # fmt: skip
    call = {"buffers": [*buffers, {"kind": "input", "index": 0}], "nodes": nodes,
            "output": {"tensor": vector(1, 32)["t"]}}  # fmt: skip
    whole = {"trace": 1, "state": [], "setup": {"buffers": [], "nodes": []}, "calls": [call],
             "kernels": [kernel(TEXT)], "texts": []}  # fmt: skip
    trace = traces.parse_trace(traces.header(json.dumps(whole).encode() + b"\n"),
                        [traces.Buffer("input", 0, 8, "float32")], {})  # fmt: skip
    launches.check_launches(trace, TRITON)
    assert summary.summarise(trace, lambda launch: 1) == {
        "launches": 2, "moves": 1, "bytes_read": 8 + 256, "bytes_written": 256 + 256 + 128,
        "kernels": [
            {"name": "k", "grid": [1], "launches": 1, "bytes_read": 8, "bytes_written": 256},
            {"name": "k", "grid": [2], "launches": 1, "bytes_read": 256, "bytes_written": 128},
        ],
    }  # fmt: skip


# ---- cubins --------------------------------------------------------------------------


def test_a_cubin_has_the_launched_entries_and_no_others() -> None:
    cubin.check_cubin(elf(), ["k"])
    for entries in (("k", "other"), ("other",), ()):
        with pytest.raises(cubin.BadCubin):
            cubin.check_cubin(elf(dict.fromkeys(entries, ())), ["k"])


@pytest.mark.parametrize(
    "section",
    [(".nv.global", 8, 3, 4), (".nv.global.init", 1, 3, 4), (".data", 1, 3, 4), (".bss", 8, 3, 4),
     (".nv.global", 8, 0, 4), (".anything", 1, 3, 4), (".nv.shared.k", 1, 3, 4)],
)  # fmt: skip
def test_a_cubin_has_no_memory_that_outlives_a_launch(section: tuple) -> None:
    with pytest.raises(cubin.BadCubin):
        cubin.check_cubin(elf(sections=(section,)), ["k"])


def test_shared_memory_and_empty_sections_are_allowed() -> None:
    cubin.check_cubin(elf(sections=((".nv.shared.k", 8, 3, 64), (".nv.global", 8, 3, 0))), ["k"])


def test_broken_cubins_are_refused_and_break_nothing() -> None:
    whole, dice = elf(), random.Random(1)
    for size in range(0, len(whole), 7):
        with pytest.raises(cubin.BadCubin):
            cubin.check_cubin(whole[:size], ["k"])
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 8)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            cubin.check_cubin(bytes(data), ["k"])
        except cubin.BadCubin:
            pass


NVCC = shutil.which("nvcc")


@pytest.mark.skipif(not NVCC, reason="needs nvcc")
@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('extern "C" __global__ void k(float *x) { x[threadIdx.x] *= 2; }', True),
        ('extern "C" __global__ void k(float *x) { __shared__ float s[32]; s[threadIdx.x] = x[0];'
         " __syncthreads(); x[1] = s[3]; }", True),
        ('__constant__ float c[4]; extern "C" __global__ void k(float *x) { x[0] = c[1]; }', True),
        ('__device__ int calls; extern "C" __global__ void k(int *x) { x[0] = calls++; }', False),
        ('__device__ int calls = 3; extern "C" __global__ void k(int *x) { x[0] = calls++; }', False),
        ('extern "C" __global__ void k(int *x) { *x = 1; }\n'
         'extern "C" __global__ void other(int *x) { *x = 2; }', False),
    ],
)  # fmt: skip
def test_what_nvcc_makes(tmp_path: Path, text: str, allowed: bool) -> None:
    (tmp_path / "k.cu").write_text(text)
    subprocess.run([NVCC, "-cubin", "-arch=sm_90", "-o", tmp_path / "k.cubin", tmp_path / "k.cu"],
                   check=True, capture_output=True)  # fmt: skip
    data = (tmp_path / "k.cubin").read_bytes()
    if allowed:
        cubin.check_cubin(data, ["k"])
    else:
        with pytest.raises(cubin.BadCubin):
            cubin.check_cubin(data, ["k"])


def test_a_cubin_describes_a_kernel_once() -> None:
    """A driver might read the other description of its parameters."""
    assert cubin.kernel_parameters(elf({"k": (8, 3, 200)})) == {"k": (8, 3, 200)}
    with pytest.raises(cubin.BadCubin, match="twice"):
        cubin.kernel_parameters(elf(sections=((".nv.info.k", 0x70000000, 0, 0),)))
