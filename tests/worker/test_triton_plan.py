"""The judge's side of the Triton family: hostile traces and hostile answers of a compiler are
refused, honest ones become launches with the bytes that Triton's launcher would pass."""
from __future__ import annotations

import copy
import json
import random
import shutil
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from launching import kernel, launch, source, trace, vector

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

from judge import cubin, summary, traces, triton_plan  # noqa: E402
from judge.traces import BadTrace, Refused  # noqa: E402
from shared import plan  # noqa: E402

TEXT = source("""
    def k(x, y, n, B: tl.constexpr):
        pass
""")
VIEW = [0, "float32", 0, [16, 16], [16, 1]]
DESC = [VIEW, [16, 16], [16, 1], [16, 16], "zero"]
SIZES = (1024, 1024)


def parsed(kernels: list[dict], nodes: list[dict]) -> traces.Trace:
    return traces.parse(traces.header(trace(kernels, nodes, *SIZES)), [], {})


def one(args: dict | None = None, **more: object) -> traces.Trace:
    told = args if args is not None else {"x": vector(0, 64), "y": vector(1, 64), "n": 5, "B": 64}
    return parsed([kernel(TEXT)], [launch(told, **more)])


# ---- what a trace may say ------------------------------------------------------------


def test_an_honest_launch_is_accepted() -> None:
    triton_plan.check(one())
    triton_plan.check(one({
        "x": {"tuple": [vector(0, 4), 1, {"tuple": [None, "text", True]}]}, "y": {"desc": list(DESC)},
        "n": {"float": "inf"}, "d": {"dtype": "pointer<fp32>"}, "f": {"kernel": 0},
        "r": {"reinterpret": [VIEW, "fp8e4nv"]}, "l": {"layout": ["AutoLayout", {}]},
    }, num_warps=8, num_stages=3, launch_pdl=True, default_dot_input_precision="ieee"))  # fmt: skip


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
        triton_plan.check(one({"x": copy.deepcopy(arg)}))


@pytest.mark.parametrize(
    "change",
    [
        {"grid": []}, {"grid": [1, 1, 1, 1]}, {"grid": [-1]}, {"grid": [2**31]}, {"grid": [1, 65536]},
        {"grid": ["1"]}, {"grid": [True]}, {"kernel": 1}, {"kernel": None}, {"args": []},
        {"args": {"__class__": 1}}, {"args": {"a b": 1}}, {"options": {"extern_libs": {"a": "/b"}}},
        {"options": {"ir_override": "/tmp/x.ttir"}}, {"options": {"num_warps": 1.5}},
        {"options": {"num_warps": 128}}, {"options": {"num_ctas": 17}}, {"options": None},
        {"options": {"default_dot_input_precision": "x"}}, {"op": "call"},
    ],
)  # fmt: skip
def test_a_launch_of_another_form_is_refused(change: dict) -> None:
    node = launch({"x": vector(0, 64)}) | change
    with pytest.raises(BadTrace):
        triton_plan.check(parsed([kernel(TEXT)], [node]))


def test_a_grid_without_programs_is_a_refusal_with_a_name() -> None:
    with pytest.raises(Refused) as caught:
        triton_plan.check(one({"x": vector(0, 64)}, grid=[4, 0]))
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
        triton_plan.check(parsed([kernel(TEXT) | change], [launch({"x": vector(0, 64)})]))


def test_configurations_are_bounded_and_each_is_checked() -> None:
    good = {"grid": [1], "args": {"x": vector(0, 64)}, "options": {}}
    bad = good | {"args": {"x": vector(0, 640)}}
    triton_plan.check(one(good["args"], tuned=[good] * 64))
    for tuned in ([good] * 65, [good, bad]):
        with pytest.raises(BadTrace):
            triton_plan.check(one(good["args"], tuned=tuned))


def test_a_lane_learns_of_tensors_only_their_dtype_and_alignment() -> None:
    told = one({"x": vector(0, 64, offset=5), "y": {"desc": list(DESC)}})
    triton_plan.check(told)
    (asked,) = triton_plan.requests(told)["launches"]
    assert asked["args"]["x"] == {"t": ["float32", 4]}
    assert asked["args"]["y"]["desc"][0] == ["float32", 0]


# ---- what the driver is asked to do --------------------------------------------------

BINARY = {"name": "k", "warps": 4, "ctas": 1, "shared": 128, "scratch": [0, 1], "profile": [0, 1],
          "cooperative": False, "pdl": False, "params": [], "maps": []}  # fmt: skip


def elf(entries: tuple[str, ...] = ("k",), sections: tuple = ()) -> bytes:
    """A cubin of nothing but tables. Sections are (name, type, flags, size)."""
    every = [("", 0, 0, b""), (".names", 3, 0, b""), (".symtab", 2, 0, b"")]
    every += [(f".text.{e}", 1, 6, b"\0" * 16) for e in entries]
    every += [(n, t, f, b"\0" * s) for n, t, f, s in sections]
    names = b"\0" + b"".join(n.encode() + b"\0" for n, *_ in every) + "".join(
        e + "\0" for e in entries).encode()  # fmt: skip
    symbols = b"\0" * 24 + b"".join(
        struct.pack("<IBBHQQ", names.index(e.encode() + b"\0"), 0x12, 0x10, 3 + i, 0, 16)
        for i, e in enumerate(entries))  # fmt: skip
    contents = [names if n == ".names" else symbols if n == ".symtab" else c for n, _, _, c in every]
    at, places = 64, []
    for part in contents:
        places.append(at)
        at += len(part)
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, at, 0, 64, 56, 0, 64, len(every), 1)  # fmt: skip
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", names.index(n.encode() + b"\0") if n else 0, t, f, 0, p, len(c), 1, 0,
                    1, 0) for (n, t, f, _), p, c in zip(every, places, contents))  # fmt: skip
    return head + b"".join(contents) + table


def answer(*binaries: dict, launches: list | None = None, data: bytes | None = None) -> bytes:
    cubins = [elf((b.get("name", "k"),)) for b in binaries] if data is None else [data]
    told = [BINARY | {"bytes": len(c)} | b for b, c in zip(binaries, cubins)]
    head = {"binaries": told, "launches": [{"binary": 0}] if launches is None else launches}
    return json.dumps(head).encode() + b"\n" + b"".join(cubins)


def planned(told: traces.Trace, binary: dict, at: int = 1 << 20) -> plan.Launch:
    triton_plan.check(told)
    built = triton_plan.Built.parse(answer(binary), told)
    maker = triton_plan.Maker(told, built, at)
    call = told.calls[0]
    return maker.node(call.launches()[0], call, [4096, 8192], 0)


def test_parameters_are_bytes_in_the_order_of_the_binary() -> None:
    args = {"x": vector(0, 4, offset=3), "n": -5, "s": 0.1, "h": 0.1, "b": 1.5, "d": 0.1, "f": True,
            "w": 2**40, "none": None, "t": {"tuple": [1, vector(1, 4)]}}  # fmt: skip
    kinds = {"x": "*", "n": "i32", "s": "fp32", "h": "fp16", "b": "bf16", "d": "fp64", "f": "u1",
             "w": "i64", "none": "*"}  # fmt: skip
    params = [[[name], kind] for name, kind in kinds.items()] + [[["t", 1], "*"]]
    node = planned(one(args, grid=[3, 2]), {"params": params, "ctas": 2})
    bits = [int.from_bytes(struct.pack(form, v), "little")
            for form, v in (("<f", 0.1), ("<e", 0.1), ("<f", 1.5), ("<d", 0.1))]  # fmt: skip
    assert node.params[:-2] == (
        plan.Pointer(4096 + 12), plan.Number(4, (1 << 32) - 5), plan.Number(4, bits[0]),
        plan.Number(2, bits[1]), plan.Number(2, bits[2] >> 16), plan.Number(8, bits[3]),
        plan.Number(1, 1), plan.Number(8, 2**40), plan.Number(8, 0), plan.Pointer(8192),
    )  # fmt: skip
    assert node.params[-2:] == (plan.Number(8, 0), plan.Number(8, 0))  # no scratch memory
    assert (node.grid, node.block, node.cluster) == ((6, 2, 1), (128, 1, 1), (2, 1, 1))
    assert node.shared == 128


def test_scratch_memory_is_for_every_program() -> None:
    told = one({"x": vector(0, 4)}, grid=[3, 2])
    node = planned(told, {"scratch": [300, 128], "profile": [8, 8], "ctas": 2})
    assert node.params == (plan.Pointer(1 << 20), plan.Pointer((1 << 20) + 3840))
    built = triton_plan.Built.parse(answer({"scratch": [300, 128], "ctas": 2}), told)
    assert triton_plan.scratch(told, built) == 3840  # 300 * 12 programs, up to 256
    huge = triton_plan.Built.parse(answer({"scratch": [1 << 30, 128]}), told)
    with pytest.raises(Refused):
        triton_plan.scratch(told, huge)


def test_a_descriptor_becomes_a_tensor_map() -> None:
    desc = [[1, "float32", 16, [8, 16], [16, 1]], [8, 16], [16, 1], [8, 16], "nan"]
    one_map = {"swizzle": 2, "item": 4, "type": 7, "block": [8, 16], "fp4": False}
    params = [[["x"], "map"], [["x", "shape", 0], "i32"], [["x", "strides", 0], "i64"]]
    node = planned(one({"x": {"desc": desc}}), {"params": params, "maps": [one_map]})
    made, rows, stride = node.params[:3]
    assert made == plan.TensorMap(8192 + 64, 7, (16, 8), (64,), (16, 8), swizzle=2, fill=1)
    assert (rows, stride) == (plan.Number(4, 8), plan.Number(8, 16))


def test_a_descriptor_without_tma_is_a_pointer_and_its_parts() -> None:
    params = [[["x", "base"], "*"], [["x", "shape", 1], "i64"], [["x", "padding"], "i1"],
              [["x", "tf32"], "i1"]]  # fmt: skip
    node = planned(one({"x": {"desc": list(DESC)}}), {"params": params})
    assert node.params[:4] == (plan.Pointer(4096), plan.Number(8, 16), plan.Number(1, 0),
                               plan.Number(1, 0))  # fmt: skip


def test_configurations_have_their_own_grid_and_binary() -> None:
    configs = [{"grid": [g], "args": {"x": vector(0, 4), "B": g}, "options": {}} for g in (1, 2, 3)]
    told = one(configs[0]["args"], tuned=configs)
    triton_plan.check(told)
    launches = [{"binary": 0}, {"error": "no"}, {"binary": 1}]
    built = triton_plan.Built.parse(answer({}, {}, launches=launches), told)
    maker, call = triton_plan.Maker(told, built, 0), told.calls[0]
    grids = [maker.node(call.launches()[0], call, [0, 0], c) for c in range(3)]
    assert [(n.function, n.grid[0]) for n in grids] == [(0, 1), (0, 1), (1, 3)]


@pytest.mark.parametrize(
    ("args", "params"),
    [
        ({"x": 1}, [[["y"], "i32"]]), ({"x": 1}, [[["x", 0], "i32"]]), ({"x": 1}, [[["x"], "*"]]),
        ({"x": vector(0, 4)}, [[["x"], "i32"]]), ({"x": 2**40}, [[["x"], "i32"]]),
        ({"x": -1}, [[["x"], "u32"]]), ({"x": {"tuple": [1]}}, [[["x", 1], "i32"]]),
        ({"x": vector(0, 4)}, [[["x"], "map"]]), ({"x": "a"}, [[["x"], "fp32"]]),
        ({"x": {"desc": list(DESC)}}, [[["x", "shape", 2], "i32"]]),
        ({"x": {"desc": list(DESC)}}, [[["x", "evil"], "i32"]]),
        ({"x": {"desc": list(DESC)}}, [[["x"], "map"]]),
    ],
)  # fmt: skip
def test_parameters_that_do_not_fit_the_arguments_are_refused(args: dict, params: list) -> None:
    with pytest.raises(BadTrace):
        planned(one(args), {"params": params})


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": 5}, {"bytes": -1}, {"bytes": 1 << 40}, {"name": "__k"}, {"name": 5}, {"warps": 0},
        {"warps": 65}, {"ctas": 0}, {"shared": -1}, {"shared": 1 << 30}, {"scratch": [1]},
        {"scratch": [-1, 1]}, {"scratch": [1, 512]}, {"pdl": 5}, {"params": [[["x"], "object"]]},
        {"params": [["x", "i32"]]}, {"params": {}}, {"params": [[["__x"], "i32"]]}, {"maps": [1]},
        {"maps": [{"swizzle": 9, "item": 4, "type": 7, "block": [8], "fp4": False}]}, {"warps": None},
    ],
)  # fmt: skip
def test_a_compilers_answer_of_another_form_is_refused(change: dict) -> None:
    told = one({"x": vector(0, 4)})
    triton_plan.check(told)
    with pytest.raises((BadTrace, Refused)):
        triton_plan.Built.parse(answer(change, data=elf()), told)


@pytest.mark.parametrize(
    "launches",
    [[], [{"binary": 1}], [{"binary": -1}], [{}], [5], [{"binary": 0}] * 2, [{"error": "x"}], 5],
)
def test_answers_that_do_not_match_the_questions_are_refused(launches: object) -> None:
    told = one({"x": vector(0, 4)})
    triton_plan.check(told)
    with pytest.raises(BadTrace):
        triton_plan.Built.parse(answer({}, launches=launches), told)


def test_bytes_that_are_no_answer_are_refused() -> None:
    told = one({"x": vector(0, 4)})
    triton_plan.check(told)
    deep = b'{"binaries":' + b"[" * 5000 + b"]" * 5000 + b"}\n"
    for data in (b"", b"\n", b"{}\n", b"[]\n", b"\xff\n", deep, answer({})[:-1], answer({}) + b"x"):
        with pytest.raises((BadTrace, Refused)):
            triton_plan.Built.parse(data, told)


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
    told = traces.parse(traces.header(json.dumps(whole).encode() + b"\n"),
                        [traces.Buffer("input", 0, 8, "float32")], {})  # fmt: skip
    triton_plan.check(told)
    named = partial(triton_plan.name, told)
    assert summary.summarise(told, named, triton_plan.views, lambda launch: 1) == {
        "launches": 2, "moves": 1, "bytes_read": 8 + 256, "bytes_written": 256 + 256 + 128,
        "kernels": [
            {"name": "k", "grid": [1], "launches": 1, "bytes_read": 8, "bytes_written": 256},
            {"name": "k", "grid": [2], "launches": 1, "bytes_read": 256, "bytes_written": 128},
        ],
    }  # fmt: skip


# ---- cubins --------------------------------------------------------------------------


def test_a_cubin_has_the_launched_entries_and_no_others() -> None:
    cubin.check(elf(("k",)), ["k"])
    for entries in (("k", "other"), ("other",), ()):
        with pytest.raises(cubin.BadCubin):
            cubin.check(elf(entries), ["k"])


@pytest.mark.parametrize(
    "section",
    [(".nv.global", 8, 3, 4), (".nv.global.init", 1, 3, 4), (".data", 1, 3, 4), (".bss", 8, 3, 4),
     (".nv.global", 8, 0, 4), (".anything", 1, 3, 4), (".nv.shared.k", 1, 3, 4)],
)  # fmt: skip
def test_a_cubin_has_no_memory_that_outlives_a_launch(section: tuple) -> None:
    with pytest.raises(cubin.BadCubin):
        cubin.check(elf(sections=(section,)), ["k"])


def test_shared_memory_and_empty_sections_are_allowed() -> None:
    cubin.check(elf(sections=((".nv.shared.k", 8, 3, 64), (".nv.global", 8, 3, 0))), ["k"])


def test_broken_cubins_are_refused_and_break_nothing() -> None:
    whole, dice = elf(), random.Random(1)
    for size in range(0, len(whole), 7):
        with pytest.raises(cubin.BadCubin):
            cubin.check(whole[:size], ["k"])
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 8)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            cubin.check(bytes(data), ["k"])
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
        cubin.check(data, ["k"])
    else:
        with pytest.raises(cubin.BadCubin):
            cubin.check(data, ["k"])


def test_a_cubin_describes_a_kernel_once() -> None:
    """A driver might read the other description of its parameters."""
    told = (".nv.info.k", 0x70000000, 0, 0)
    assert cubin.parameters(elf(sections=(told,))) == {"k": ()}
    with pytest.raises(cubin.BadCubin, match="twice"):
        cubin.parameters(elf(sections=(told, told)))
