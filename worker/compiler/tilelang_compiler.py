"""Compiles recorded TileLang kernels, in a process without data and without a GPU.

A request's `target` is "sm_90" and so on; where its `device` is "cpu", kernels become C++ and a
library. A launch is one of each kernel that the function has."""

import math
import os
import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilelang
import tvm
from compiler import Answer, Malformed, answer_of, as_number, node, tilelang_ir, value
from compiler.tilelang_host import Address, Host, HostError, Launch, Slot, TensorArgument
from shared import native
from tilelang.cuda.backend import tilelang_callback_cuda_compile
from tilelang.env import TILELANG_TEMPLATE_PATH
from tvm import tirx
from tvm.target import Target

_SHARED = {80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448, 100: 232448,
           103: 232448, 120: 101376, 121: 101376}  # bytes that a block may have  # fmt: skip
_THREADS = 1024  # that a block may have
_ACCELERATED = (90, 100, 103, 120, 121)  # whose own instructions need an "a" behind the number
_FLOATS = {"float16": "<e", "float32": "<f", "float64": "<d"}
_CPP = ["-std=c++17", "-O3", "-w", "-fPIC", "-shared", *native.LIBRARY_FLAGS.split(), "-Wl,--as-needed"]
_LONGEST = 8000  # characters of an error


class CompileFailed(Exception):
    """A kernel that does not compile; the text is for whoever wrote it."""


def compile_tilelang(request: dict) -> bytes:
    """The answer; raises CompileFailed or tilelang_ir.Denied."""
    os.environ["TILELANG_DISABLE_CACHE"] = "1"
    return answer_of(
        lambda made: made.launch(request, _Kernels(request, made).nodes, CompileFailed, tilelang_ir.Denied)
    )


def arch_target(device: str, name: str) -> Target:
    if device == "cpu":
        return Target("c")
    number = int(name.removeprefix("sm_"))
    return Target({"kind": "cuda", "arch": name + ("a" if number in _ACCELERATED else "")})


# ---- one kernel ------------------------------------------------------------------


@dataclass
class _Kernel:
    """A kernel after lowering."""

    name: str
    host: tirx.PrimFunc
    device: dict[str, tirx.PrimFunc]
    source: str
    configs: dict
    first: int = -1  # number of its first function in the answer


def load_kernel(spec: dict, texts: list[str]) -> tirx.PrimFunc:
    """The function that was recorded, after the check."""
    text = texts[spec["text"]]
    tilelang_ir.check_ir(text)
    tilelang_ir.check_configuration(spec["configs"], spec["flags"])
    return tvm.ir.load_json(text)


def lower(spec: dict, texts: list[str], where: Target) -> _Kernel:
    name = spec["name"]
    configs = dict(spec["configs"])
    if spec["flags"]:
        configs["tl.device_compile_flags"] = spec["flags"]
    try:
        func = load_kernel(spec, texts)
        with tvm.transform.PassContext(opt_level=3, config=configs), where:
            made = tilelang.lower(func, target=where)
    except tilelang_ir.Denied:
        raise
    except Exception as problem:  # noqa: BLE001 - any refusal counts
        raise CompileFailed(_tilelang_explained(name, problem)) from None
    device = {_symbol(var, func): func for var, func in made.device_mod.functions.items()}
    hosts = list(made.host_mod.functions.values())
    if len(hosts) != 1:
        raise CompileFailed(f"{name}: the kernel has {len(hosts)} host functions")
    return _Kernel(name, hosts[0], device, made.kernel_source, configs)


def _symbol(var: Any, func: tirx.PrimFunc) -> str:
    return str(func.attrs["global_symbol"]) if "global_symbol" in func.attrs else var.name_hint


def _tilelang_explained(name: str, problem: Exception) -> str:
    """Without the frames of the compiler itself, which TVM writes into its messages."""
    text = str(problem).strip()
    if "Compilation error:" in text:  # the whole source comes before it
        text = text[text.index("Compilation error:") :]
    said = [line for line in text.splitlines() if line.strip()]
    if any(line.lstrip().startswith("File \"") for line in said):
        said = said[-3:]
    return f"{name}: {type(problem).__name__}: " + "\n".join(said)[-_LONGEST:]


# ---- the answer -------------------------------------------------------------------


class _Kernels:
    def __init__(self, request: dict, made: Answer) -> None:
        self.request, self.made = request, made
        self.where, self.cpu = arch_target(request["device"], request["target"]), request["device"] == "cpu"
        self.kernels: dict[int, _Kernel] = {}
        self.failures: dict[int, Exception] = {}

    def kernel(self, number: int) -> _Kernel:
        if number in self.failures:
            raise self.failures[number]
        if number not in self.kernels:
            try:
                self.kernels[number] = self.build(self.request["kernels"][number])
            except (CompileFailed, tilelang_ir.Denied) as problem:
                self.failures[number] = problem
                raise
        return self.kernels[number]

    def build(self, spec: dict) -> _Kernel:
        kernel = lower(spec, self.request["texts"], self.where)
        data = _tilelang_library(kernel) if self.cpu else _tilelang_cubin(kernel, self.where)
        kind, prefix = ("library", "monkeys_call_") if self.cpu else ("cubin", "")
        kernel.first = self.made.module(kind, data, (prefix + name for name in kernel.device))
        return kernel

    def nodes(self, launch: dict) -> list[dict]:
        kernel = self.kernel(launch["options"].get("kernel", launch["kernel"]))
        arguments = [_host_argument(raw) for raw in launch["args"].values()]
        try:
            made = Host(kernel.host, arguments, "c" if self.cpu else "cuda").run()
            return [self.node(kernel, launch) for launch in made]
        except HostError as problem:
            raise CompileFailed(f"{kernel.name}: {problem}") from None

    def node(self, kernel: _Kernel, launch: Launch) -> dict:
        func = kernel.device.get(launch.function)
        if func is None:
            raise HostError(f"the host's part of the kernel calls {launch.function}, which is not "
                            "supported")  # fmt: skip
        count = len(func.params)
        params = [_host_param(v, str(p.dtype)) for v, p in zip(launch.values, func.params)]
        function = kernel.first + list(kernel.device).index(launch.function)
        if self.cpu:
            return {"function": function, "params": params}
        made = node(function, params, **_launch_shape(func.attrs, launch.values[count:]))
        most = _SHARED.get(int(self.request["target"].removeprefix("sm_")), 49152)
        if made["shared"] > most:
            raise HostError(f"out of resource: shared memory, required: {made['shared']}, hardware "
                            f"limit: {most}. Smaller tiles or fewer stages may help.")  # fmt: skip
        threads = math.prod(made["block"])
        if threads > _THREADS:
            raise HostError(f"out of resource: threads, required: {threads}, hardware limit: "
                            f"{_THREADS}")  # fmt: skip
        return made


def _host_argument(raw: Any) -> Any:
    if isinstance(raw, dict) and "t" in raw:
        number, _, shape, strides, _ = raw["t"]
        return TensorArgument(number, tuple(shape), tuple(strides))
    if raw is None:
        raise Malformed("an argument that is nothing")
    return value(raw)


def _host_param(value: Any, dtype: str) -> list:
    if isinstance(value, Address):
        return ["p", value.argument, value.offset]
    if isinstance(value, Slot) and value.map:
        fields = value.map
        return ["m", fields["address"].argument, fields["address"].offset, fields["dtype"], fields["shape"],
                fields["strides"], fields["box"], fields["swizzle"], fields["fill"]]  # fmt: skip
    if dtype in _FLOATS:
        data = _number_bytes(_FLOATS[dtype], float(value))
    elif dtype == "bfloat16":
        data = _number_bytes("<f", float(value))[2:]
    elif dtype == "bool":
        data = bytes([bool(value)])
    elif match := re.fullmatch(r"u?int(8|16|32|64)", dtype):
        data = (int(value) & (1 << int(match[1])) - 1).to_bytes(int(match[1]) // 8, "little")
    else:
        raise HostError(f"a parameter of the type {dtype} is not supported")
    return as_number(data)


def _number_bytes(form: str, value: float) -> bytes:
    try:
        return struct.pack(form, value)
    except OverflowError:
        return struct.pack(form, float("inf") if value > 0 else float("-inf"))


def _launch_shape(attrs: Any, values: list[Any]) -> dict:
    """The launch's own arguments, in the order of their tags."""
    made = {"grid": [1, 1, 1], "block": [1, 1, 1], "cluster": [1, 1, 1], "shared": 0,
            "cooperative": bool(attrs.get("use_cooperative_groups", False)),
            "pdl": bool(attrs.get("has_cuda_pdl_sync", False))}  # fmt: skip
    rest = iter(values)
    for tag in map(str, attrs["tirx.kernel_launch_params"]):
        place, axis = tag[:-1], "xyz".find(tag[-1])
        if place in _TAGS and axis >= 0:
            made[_TAGS[place]][axis] = int(next(rest))
        elif tag == "tirx.use_dyn_shared_memory":
            made["shared"] = int(next(rest))
        elif tag == "tirx.use_cooperative_launch":
            made["cooperative"] = True
        elif tag == "tirx.use_programtic_dependent_launch":
            made["pdl"] = True
        else:
            raise HostError(f"a launch with {tag} is not supported")
    return made


_TAGS = {"blockIdx.": "grid", "threadIdx.": "block", "tir.cluster_dim_": "cluster"}


# ---- binaries ---------------------------------------------------------------------


def _tilelang_cubin(kernel: _Kernel, where: Target) -> bytes:
    try:
        return bytes(tilelang_callback_cuda_compile(kernel.source, where, kernel.configs))
    except Exception as problem:  # noqa: BLE001 - nvcc's words
        raise CompileFailed(_tilelang_explained(kernel.name, problem)) from None


def _tilelang_library(kernel: _Kernel) -> bytes:
    """C++ with a function for each of the kernel's that takes words."""
    stubs = "".join(_word_stub(name, func) for name, func in kernel.device.items())
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        source.write_text(kernel.source + _WORDS + stubs)
        command = ["g++", *_CPP, "-I", TILELANG_TEMPLATE_PATH, "-o", str(made), str(source), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise CompileFailed(f"{kernel.name}: {done.stderr[:_LONGEST]}")
        return made.read_bytes()


# A word is whatever the parameter is: the compiler knows its type.
_WORDS = """
struct monkeys_word {
    unsigned long long word;
    template <class T> operator T() const
    {
        T value;

        __builtin_memcpy(&value, &word, sizeof(value));
        return value;
    }
};
"""


def _word_stub(name: str, func: tirx.PrimFunc) -> str:
    words = ", ".join(f"monkeys_word{{monkeys_words[{i}]}}" for i in range(len(func.params)))
    return (
        f'extern "C" void monkeys_call_{name}(const unsigned long long *monkeys_words)\n'
        f"{{\n    (void)monkeys_words;\n    {name}({words});\n}}\n"
    )
