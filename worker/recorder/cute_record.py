"""How launches of CuTe DSL become nodes of a trace. Its compiler runs the candidate's Python
and makes MLIR of it: kernels, and host code that launches them. In the process of the
candidate both are compiled, and the host code runs over addresses of fake tensors, linked
with a CUDA runtime that writes launches down (cute_host.c). The MLIR travels as a text; it is
compiled once more elsewhere (cute_compiler.py), and only that binary is executed.

  KERNEL = {"text": number of the MLIR among the texts, "name": symbol, "params": [bytes, …]}
  launch = {"op": "launch", "kernel": k, "grid": [x, y, z], "args": {"p0": ARG, …},
            "options": {"block": […], "shared": bytes, "cluster": […], "cooperative": bool,
                        "pdl": bool}}
  ARG    = {"b": hex} (bytes) | {"b": hex, "t": VIEW, "o": bytes}: the first eight bytes are
           an address, that many bytes behind the start of the view

Nothing here is believed: the judge checks what arrives (launches.py)."""

import ctypes
import functools
import os
import re
import struct
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from cutlass.base_dsl import compile_backend
from cutlass.base_dsl.dsl import BaseDSL
from cutlass.cute import runtime
from cutlass.cutlass_dsl import cuda_jit_executor
from shared import fatbin

_WORDS = 12
_Called = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_int, *[ctypes.c_long] * _WORDS)
_FAILED = 1  # cudaErrorInvalidValue
_COOPERATIVE, _CLUSTER, _PDL = 2, 4, 6  # cudaLaunchAttributeID
_ATTRIBUTE_BYTES = 72
_DLPACK = {torch.bool: (6, 8), torch.bfloat16: (4, 16), torch.uint8: (1, 8)}
_FLOAT, _SIGNED = 2, 0
_CUDA = 2  # kDLCUDA
_ADDRESS = re.compile(r"!cute\.(memref|ptr)<.*\bgmem\b")
# Types of parameters that hold nothing at run time, so that the binary does not have them.
_EMPTY = re.compile(r"!cute\.(tiled_mma|tiled_copy)<|!cute_nvgpu\.|!cute\.\w+<\"[^\"?]*\">$")

_current: Callable[[], Any] = lambda: None  # the recorder, while forward runs
_kept: list[Any] = []  # what C code points to


class LaunchedElsewhere(RuntimeError):
    """A kernel that is launched where nothing is recorded."""


@functools.cache
def host_runtime() -> ctypes.CDLL:
    """Built once, in the zygote, before anything is compiled: its names are known to all code
    of this process, and CuTe DSL's own runtime is not loaded."""
    BaseDSL.get_shared_libs = lambda self: []
    source = os.path.join(os.path.dirname(__file__), "cute_host.c")
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "cute_host.so")
        argv = ["gcc", "-shared", "-fPIC", "-O1", "-o", made, source]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"gcc cannot build cute_host.c: {done.stderr[-500:]}")
        return ctypes.CDLL(made, mode=ctypes.RTLD_GLOBAL)


def install_cute(current: Callable[[], Any]) -> None:
    """Replaces what would ask for a GPU, in this process, for good."""
    global _current
    _current = current
    called = _Called(_answer)
    _kept.append(called)
    place = ctypes.c_void_p.in_dll(host_runtime(), "monkeys_called")
    place.value = ctypes.cast(called, ctypes.c_void_p).value
    executor = cuda_jit_executor.CudaDialectJitCompiledFunction
    executor.num_devices = 1
    executor._load_cuda_library = _loading(executor._load_cuda_library)
    backend = compile_backend.LegacyCompilerBackend
    backend._build_compiled_function = _keeping(backend._build_compiled_function)
    runtime._Tensor.__init__ = _exporting(runtime._Tensor.__init__)
    executor = cuda_jit_executor.JitExecutor
    executor.run_compiled_program = _watched(executor.run_compiled_program)


# ---- compiling -----------------------------------------------------------------


def _keeping(build: Callable) -> Callable:
    """The MLIR of a function is kept as it is before passes change it."""

    def made(self: Any, ctx: Any, arch: str, state: Any) -> Any:
        text = str(state.module)
        types = _types(state.module)
        function = build(self, ctx, arch, state)
        function.monkeys_text, function.monkeys_types = text, types
        return function

    return made


def _types(module: Any) -> dict[str, list[str]]:
    """The types of each kernel's parameters, by its name."""
    found = {}
    for top in module.body.operations:
        if top.operation.name != "gpu.module":
            continue
        for op in top.operation.regions[0].blocks[0].operations:
            if op.operation.name == "cuda.kernel":
                block = op.operation.regions[0].blocks[0]
                name = str(op.operation.attributes["sym_name"]).strip('"')
                types = [str(argument.type) for argument in block.arguments]
                found[name] = [kind for kind in types if not _EMPTY.match(kind)]
    return found


_loaded: list[Any] = []  # the function whose library is being loaded


def _loading(load: Callable) -> Callable:
    def loaded(self: Any) -> Any:
        _loaded.append(self)
        try:
            return _watched(load)(self)
        finally:
            _loaded.pop()

    return loaded


# ---- tensors -------------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int), ("index", ctypes.c_int),
        ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


class _Exported:
    """A fake tensor as DLPack tells tensors."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        t = self.tensor
        code, bits = _DLPACK.get(t.dtype) or (
            _FLOAT if t.dtype.is_floating_point else _SIGNED, t.dtype.itemsize * 8
        )  # fmt: skip
        sizes = ctypes.c_int64 * max(t.dim(), 1)
        shape, strides = sizes(*t.shape), sizes(*t.stride())
        tensor = _DLTensor(t.data_ptr(), _CUDA, 0, t.dim(), code, bits, 1, shape, strides, 0)
        _kept.extend((tensor, shape, strides))
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]  # fmt: skip
        return make(ctypes.addressof(tensor), b"dltensor", None)


def _exporting(init: Callable) -> Callable:
    def made(self: Any, tensor: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(tensor, torch.Tensor):
            if tensor.device.type != "cuda":
                raise ValueError(
                    f"a tensor on {tensor.device} is passed to a kernel, which cannot reach it: "
                    "make it with the device of an input"
                )
            tensor = _Exported(tensor)
        init(self, tensor, *args, **kwargs)

    return made


# ---- launching -----------------------------------------------------------------


@dataclass(frozen=True)
class _Kernel:
    name: str
    text: str
    types: list[str]
    sizes: list[int]


_kernels: list[_Kernel] = []  # the handle of a kernel is its place, counted from 1
_cubins: list[dict[str, list[int]]] = []  # likewise for libraries: sizes of parameters
_problems: list[BaseException] = []


def _watched(call: Callable) -> Callable:
    """What went wrong in a function called from C is raised where the candidate called it."""

    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(self, *args, **kwargs)
        finally:
            if _problems:
                problem, _problems[:] = _problems[0], []
                raise problem

    return called


def _answer(which: int, *words: int) -> int:
    try:
        return _ANSWERS.get(which, _success)(*words)
    except BaseException as problem:  # noqa: BLE001 - C has no exceptions
        _problems.append(problem)
        return _FAILED


def _success(*_: int) -> int:
    return 0


def _load(library: int, code: int, *_: int) -> int:
    _cubins.append(_cubin_parameters(code))
    ctypes.c_long.from_address(library).value = len(_cubins)
    return 0


def _get_kernel(kernel: int, library: int, name: int, *_: int) -> int:
    symbol, function = ctypes.string_at(name).decode(), _loaded[-1]
    sizes = _cubins[library - 1][symbol]
    _kernels.append(_Kernel(symbol, function.monkeys_text, function.monkeys_types[symbol], sizes))
    ctypes.c_long.from_address(kernel).value = len(_kernels)
    return 0


def _one(value: int, *_: int) -> int:
    ctypes.c_int.from_address(value).value = 1
    return 0


_ATTRIBUTES = {8: 49152, 97: 232448, 16: 132, 75: 9, 76: 0}  # of a device, by number


def _attribute(value: int, which: int, *_: int) -> int:
    ctypes.c_int.from_address(value).value = _ATTRIBUTES.get(which, 0)
    return 0


def _zero(value: int, *_: int) -> int:
    ctypes.c_int.from_address(value).value = 0
    return 0


def _launch(config: int, kernel: int, params: int, *_: int) -> int:
    recorder, known = _current(), _kernels[kernel - 1]
    if recorder is None:
        raise LaunchedElsewhere(
            f"the kernel {known.name} is launched outside forward: launch kernels in forward, "
            "and nowhere else"
        )
    *sizes, shared, _, attributes, count = struct.unpack("<6IQQQI", ctypes.string_at(config, 52))
    options = {"block": sizes[3:], "shared": shared, **_options(attributes, count)}
    if len(known.types) != len(known.sizes):
        recorder.refuse("parameters", f"the kernel {known.name} has other parameters than its "
                        "MLIR says")  # fmt: skip
    at = (ctypes.c_long * len(known.sizes)).from_address(params) if known.sizes else []
    args = {
        f"p{i}": _argument(recorder, known, i, ctypes.string_at(at[i], size))
        for i, size in enumerate(known.sizes)
    }
    text = recorder.text(known.text)
    spec = {"text": text, "name": known.name, "params": known.sizes}
    recorder.launch({"op": "launch", "kernel": recorder.kernel((text, known.name), spec),
                     "grid": sizes[:3], "args": args, "options": options})  # fmt: skip
    return 0


def _argument(recorder: Any, kernel: _Kernel, index: int, data: bytes) -> dict:
    """A tensor begins with its address; what of its layout is dynamic follows."""
    if not _ADDRESS.match(kernel.types[index]):
        return {"b": data.hex()}
    found = recorder.at(int.from_bytes(data[:8], "little"))
    if found is None:
        recorder.refuse("argument", f"argument {index} of the kernel {kernel.name} is an address "
                        "in no tensor of this call")  # fmt: skip
    view, offset = found
    return {"b": (bytes(8) + data[8:]).hex(), "t": view, "o": offset}


def _options(attributes: int, count: int) -> dict:
    found = {"cluster": [1, 1, 1], "cooperative": False, "pdl": False}
    for i in range(min(count, 64)):
        data = ctypes.string_at(attributes + i * _ATTRIBUTE_BYTES, _ATTRIBUTE_BYTES)
        which, first, second, third = struct.unpack_from("<I4xIII", data)
        if which == _CLUSTER:
            found["cluster"] = [first, second, third]
        elif which == _COOPERATIVE:
            found["cooperative"] = bool(first)
        elif which == _PDL:
            found["pdl"] = bool(first)
    return found


def _no_map(*_: int) -> int:
    _current().refuse("tensor-map", "tensor maps (TMA) cannot be recorded for this language yet: "
                      "copy with cp.async or plain copies")  # fmt: skip
    return _FAILED


_ANSWERS: dict[int, Callable[..., int]] = {
    0: _launch, 1: _load, 2: _get_kernel, 3: _attribute, 7: _zero, 8: _one, 12: _no_map,
}  # fmt: skip


# ---- cubins --------------------------------------------------------------------

_PARAMETER = 0x17  # EIATTR_KPARAM_INFO


def _cubin_parameters(code: int) -> dict[str, list[int]]:
    """The bytes of each parameter of each kernel, as the cubin itself tells them."""
    (data,) = fatbin.cubins(ctypes.string_at(code, fatbin.size(ctypes.string_at(code, 16))))
    (at,), (count, names) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 60)
    table = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * i) for i in range(count)]
    found: dict[str, list[int]] = {}
    for name, _, _, _, start, length, *_ in table:
        begin = table[names][4] + name
        section = data[begin : data.index(0, begin)].decode()
        if section.startswith(".text."):
            found.setdefault(section[6:], [])
        if section.startswith(".nv.info."):
            found[section[9:]] = _sizes(data[start : start + length])
    return found


def _sizes(info: bytes) -> list[int]:
    sizes: dict[int, int] = {}
    at = 0
    while at + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        if form == 4 and attribute == _PARAMETER:
            _, ordinal, _, packed = struct.unpack_from("<IHHI", info, at + 4)
            sizes[ordinal] = packed >> 18
        at += 4 + (value if form == 4 else 0)
    return [sizes[i] for i in sorted(sizes)]
