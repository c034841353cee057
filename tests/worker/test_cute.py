"""CuTe DSL on both sides of the trace: what host code launches is recorded without a GPU, the
MLIR is checked and compiled apart from the candidate, and the judge believes neither."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pack_packages import missing

if missing("cute-dsl"):
    pytest.skip(missing("cute-dsl"), allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
sys.path[:0] = [str(ROOT / "packs" / "cute-dsl"), str(ROOT / "worker")]

from shared import packages  # noqa: E402

packages.add("cute-dsl")

import compiler_answers  # noqa: E402
import native_run  # noqa: E402
from judge import launches, traces  # noqa: E402
from compiler import cute_compiler  # noqa: E402
from shared import fatbin, program  # noqa: E402

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x):
        return torch.relu(x + self.bias)


def get_inputs():
    return [torch.randn(100, 48)]


def get_init_inputs():
    return [48]
"""
CANDIDATE = """
import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack, make_ptr


@cute.kernel
def kernel(x: cute.Tensor, b: cute.Tensor, y: cute.Tensor):
    i = cute.arch.block_idx()[0] * 256 + cute.arch.thread_idx()[0]
    if i < cute.size(x):
        r, c = i // x.shape[1], i % x.shape[1]
        v = x[r, c].to(cutlass.Float32) + b[c].to(cutlass.Float32)
        y[r, c] = cute.arch.fmax(v, 0.0).to(y.element_type)


@cute.jit
def run(x: cute.Tensor, b: cute.Tensor, y: cute.Tensor):
    blocks = cute.ceil_div(cute.size(x), 256)
    kernel(x, b, y).launch(grid=[blocks, 1, 1], block=[256, 1, 1])


@cute.jit
def run_pointers(x: cute.Pointer, b: cute.Pointer, y: cute.Pointer, rows: cutlass.Int32):
    layout = cute.make_layout((rows, 48), stride=(48, 1))
    run(cute.make_tensor(x, layout), cute.make_tensor(b, cute.make_layout(48)),
        cute.make_tensor(y, layout))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features))
        self.compiled = None

    def forward(self, x):
        y = torch.empty_like(x)
        tensors = (x, self.bias.detach(), y)
        ARGUMENTS
        self.compiled(*args)
        return y
"""
ARGUMENTS = {
    "static": "args = [from_dlpack(t) for t in tensors]\n"
              "        self.compiled = self.compiled or cute.compile(run, *args)",
    "dynamic": "args = [from_dlpack(t).mark_layout_dynamic() for t in tensors]\n"
               "        self.compiled = self.compiled or cute.compile(run, *args)",
    "called": "args = [from_dlpack(t) for t in tensors]\n        self.compiled = run",
    "pointers": "kind = cutlass.BFloat16 if x.dtype == torch.bfloat16 else cutlass.Float32\n"
                "        args = [make_ptr(kind, t.data_ptr(), cute.AddressSpace.gmem) for t in tensors]\n"
                "        args.append(x.shape[0])\n"
                "        self.compiled = self.compiled or cute.compile(run_pointers, *args)",
}  # fmt: skip


def recorded(folder: Path, text: str) -> dict:
    """What seed_compile.py says of a candidate."""
    (folder / "task.py").write_text(TASK)
    (folder / "solution.py").write_text(text)
    script = Path(__file__).with_name("seed_compile.py")
    argv = [sys.executable, "-B", script, "cute-dsl", "bf16", str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"seed"')]
    assert lines, done.stderr[-2000:]
    return json.loads(lines[0])


@pytest.mark.parametrize("how", ARGUMENTS)
def test_launches_are_recorded_however_tensors_are_passed(how: str, tmp_path: Path) -> None:
    trace = recorded(tmp_path, CANDIDATE.replace("ARGUMENTS", ARGUMENTS[how]))
    assert len(trace.get("launches", ())) == 1, trace


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("self.compiled(*args)", "y = torch.relu(x + self.bias)", "aten"),
        ("self.compiled(*args)", "x.sum().item()", "aten"),
        ("class ModelNew", "run(*[from_dlpack(torch.empty(48, 48, device='cuda'))] * 3)\n\n\nclass ModelNew",
         "outside forward"),
        ("tensors = (x,", "tensors = (x.cpu(),", "cannot reach it"),
        ("args = [from_dlpack(t) for t in tensors]",
         "args = [make_ptr(cutlass.BFloat16, p, cute.AddressSpace.gmem) for p in (64, 64, 64)] + [4]\n"
         "        run = run_pointers", "in no tensor of this call"),
        ("y = torch.empty_like(x)\n", "y = torch.empty_like(x)\n        if self.compiled is not None:\n"
         "            self.compiled(*self.args)\n            return y\n", "input-kept"),
    ],
)  # fmt: skip
def test_what_does_not_launch_kernels_of_this_call_is_refused(
    old: str, new: str, reason: str, tmp_path: Path
) -> None:
    arguments = ARGUMENTS["static"] + "\n        self.args = args"
    text = CANDIDATE.replace("ARGUMENTS", arguments).replace(old, new, 1)
    assert reason in recorded(tmp_path, text).get("error", ""), reason


# ---- the compiler ------------------------------------------------------------------

KERNEL = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @k(%arg0: !cute.memref<f32, gmem, "(32):(1)">) attributes {cu_attrs = {}} {
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = cute.make_coord(%0) : (i32) -> !cute.coord<"?">
      %2 = arith.constant 2.000000e+00 : f32
      HERE
      cute.memref.store(%arg0, %1, %2) : (!cute.memref<f32, gmem, "(32):(1)">, !cute.coord<"?">, f32) -> ()
      return
    }
  }
  TOP
}
"""


def compiler(here: str = "", top: str = "") -> bytes:
    text = KERNEL.replace("HERE", here).replace("TOP", top)
    return cute_compiler.compile_cute(native_run.request(read(trace_of(text)), "cute"))


def test_the_mlir_of_kernels_becomes_a_cubin_without_a_gpu() -> None:
    head, _, cubin = compiler().partition(b"\n")
    header = json.loads(head)
    assert header["modules"] == [{"kind": "cubin", "bytes": len(cubin)}] and cubin.startswith(b"\x7fELF")
    assert header["functions"] == [{"module": 0, "name": "k"}]


@pytest.mark.parametrize(
    "here, top, reason",
    [
        ("", 'llvm.mlir.global constant @b("\\7fELF") {addr_space = 0 : i32}', "llvm.mlir.global"),
        ("", 'gpu.binary @b [#gpu.object<#nvvm.target<chip = "sm_90">, "\\7fELF">]', "gpu.binary"),
        ('llvm.inline_asm has_side_effects ".global .b8 kept[64];", "" : () -> ()', "", "directive"),
        ("%t = nvvm.read.ptx.sreg.clock64 : i64", "", "must not read clock"),
        ("memref.alloca_scope {\n}", "", "memref.alloca_scope"),
    ],
)  # fmt: skip
def test_code_of_another_making_is_refused(here: str, top: str, reason: str) -> None:
    with pytest.raises(cute_compiler.Denied, match=reason):
        compiler(here, top)


def test_what_is_no_mlir_is_refused() -> None:
    with pytest.raises(cute_compiler.Denied, match="not MLIR"):
        cute_compiler.compile_cute(native_run.request(read(trace_of("module {")), "cute"))


def test_a_fat_binary_that_lies_about_its_sizes_has_no_cubin() -> None:
    assert fatbin.cubins(b"") == [] and fatbin.cubins(b"\x50\xed\x55\xba" + b"\xff" * 40) == []
    assert fatbin.cubins(b"\x50\xed\x55\xba" + bytes(60)) == []


# ---- the judge -----------------------------------------------------------------

SIZES = [8, 24, 4]
CUTE = launches.FAMILIES["cute"]


def raw_trace() -> dict:
    buffers = [{"kind": "new", "bytes": 128, "dtype": "float32"} for _ in range(2)]
    launch = {
        "op": "launch", "kernel": 0, "grid": [1, 1, 1],
        "args": {
            "p0": {"b": "00" * 8, "t": [0, "float32", 0, [32], [1]], "o": 16},
            "p1": {"b": "00" * 8 + "11" * 16, "t": [1, "float32", 0, [32], [1]], "o": 0},
            "p2": {"b": "01020304"},
        },
        "options": {"block": [32, 1, 1], "shared": 0, "cluster": [1, 1, 1], "cooperative": False,
                    "pdl": False},
    }  # fmt: skip
    call = {"buffers": buffers, "nodes": [launch],
            "output": {"tensor": [1, "float32", 0, [32], [1]]}}  # fmt: skip
    return {"trace": 1, "state": [], "setup": {"buffers": [], "nodes": []}, "calls": [call],
            "kernels": [{"text": 0, "name": "k", "params": SIZES}], "texts": ["module {}"],
            "packed": False}  # fmt: skip


def read(trace: dict) -> traces.Trace:
    found = traces.parse_trace(traces.header(json.dumps(trace).encode() + b"\n"), [], {})
    launches.check_launches(found, CUTE)
    return found


def trace_of(text: str, *sizes: int) -> dict:
    """A launch of k, with parameters of these sizes."""
    trace = raw_trace() | {"texts": [text]}
    given = sizes or (8,)
    trace["kernels"][0]["params"] = list(given)
    args = {f"p{i}": {"b": "00" * n} for i, n in enumerate(given)}
    args["p0"] |= {"t": [0, "float32", 0, [32], [1]], "o": 0}
    trace["calls"][0]["nodes"][0]["args"] = args
    return trace


def test_a_launch_becomes_a_node_with_addresses_of_the_region() -> None:
    trace = read(raw_trace())
    [asked] = native_run.request(trace, "cute")["launches"]
    node = cute_compiler._cute_node(0, asked, SIZES)
    data = compiler_answers.answer([[node]], compiler_answers.cubin({"k": tuple(SIZES)}))
    [made] = compiler_answers.planned(data, trace, "cute", 256).calls[1]
    assert made.params == (
        program.Pointer(256 + 16),
        program.Struct(bytes(8) + b"\x11" * 16, ((0, program.Pointer(512)),)),
        program.Number(4, 0x04030201),
    )


@pytest.mark.parametrize("sizes, right", [([8], True), ([8, 8], False), ([16], False)])
def test_parameters_are_those_of_the_cubin(sizes: list[int], right: bool) -> None:
    """A driver would read what lies behind those that are missing."""
    trace = read(trace_of(KERNEL.replace("HERE", "").replace("TOP", ""), *sizes))
    data = cute_compiler.compile_cute(native_run.request(trace, "cute"))
    if right:
        launches.Built.parse(data, trace, CUTE)
    else:
        with pytest.raises(traces.BadTrace, match="does not have"):
            launches.Built.parse(data, trace, CUTE)


def test_a_damaged_answer_is_read_or_refused() -> None:
    trace = read(trace_of(KERNEL.replace("HERE", "").replace("TOP", "")))
    data = cute_compiler.compile_cute(native_run.request(trace, "cute"))
    compiler_answers.is_read_or_refused(data, trace, "cute", 300)


def change(path: str, value: object) -> dict:
    trace = copy.deepcopy(raw_trace())
    launch = trace["calls"][0]["nodes"][0]
    where = {"kernel": trace["kernels"][0], "launch": launch, "options": launch["options"],
             "args": launch["args"], "p0": launch["args"]["p0"]}  # fmt: skip
    owner, key = path.split(".")
    where[owner][key] = value
    return trace


@pytest.mark.parametrize(
    "path, value",
    [
        ("kernel.name", "a b"), ("kernel.text", 1), ("launch.kernel", 1), ("launch.grid", [0, 1, 1]),
        ("launch.grid", []), ("options.stream", 0), ("p0.o", -1), ("p0.b", 5), ("p0.more", 1),
        ("p0.t", [0, "float32", 0, [33], [1]]), ("p0.t", [2, "float32", 0, [1], [1]]), ("args.p2", 5),
        ("args.p2", {"t": [0, "float32", 0, [1], [1]]}), ("args.p4", {"b": "00"}),
    ],
)  # fmt: skip
def test_a_trace_that_says_something_else_is_refused(path: str, value: object) -> None:
    with pytest.raises((traces.BadTrace, traces.Refused)):
        read(change(path, value))


@pytest.mark.parametrize(
    "path, value",
    [
        ("kernel.params", [8, 24]), ("kernel.params", [8, 24, 1 << 20]), ("kernel.params", 5),
        ("launch.grid", [1]), ("options.block", [2048, 1, 1]), ("options.shared", 1 << 20),
        ("options.cluster", [16, 2, 1]), ("options.pdl", 1), ("p0.o", 129), ("p0.b", "00"),
        ("p0.b", "zz" * 8), ("args.p2", {"b": "0102", "t": [0, "float32", 0, [1], [1]], "o": 0}),
        ("args.p3", {"b": "00"}),
    ],
)  # fmt: skip
def test_what_the_compiler_or_its_reader_finds_is_refused(
    path: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    cubin = compiler_answers.cubin({"k": tuple(SIZES)})
    monkeypatch.setattr(cute_compiler, "_cute_cubin", lambda *_: cubin)
    trace = read(change(path, value))
    with pytest.raises((traces.BadTrace, traces.Refused)):
        compiler_answers.planned(cute_compiler.compile_cute(native_run.request(trace, "cute")), trace, "cute")
