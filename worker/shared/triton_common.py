"""What recorder, compiler and interpreter share for the languages that Triton compiles: kernels
rebuilt from the trace after the check, values of the trace, and which errors are Triton's.
Nothing of the candidate's is imported."""

import functools
import hashlib
import importlib
import importlib.metadata
import linecache
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import torch
import triton
import triton.language as tl
from shared import kernel_language
from shared.kernel_language import Denied, Kernel
from shared.kernel_names import LAYOUTS, MODULES, NAMES
from triton.backends.compiler import GPUTarget
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources, PTXASError

_OWN = ("compiler/triton_compiler.py", "shared/triton_common.py", "shared/kernel_language.py",
        "shared/kernel_names.py", "shared/kernel_assembly.py")  # fmt: skip
DEEPEST = 16  # tuples in tuples
_DTYPES = {
    "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "fp8e5",
    "fp8e4nv", "fp8e4b8", "fp8e5b16", "fp8e4b15", "fp16", "bf16", "fp32", "fp64", "void",
}  # fmt: skip


class CompileFailed(Exception):
    """A kernel that does not compile; the text is for whoever wrote it."""


def triton_version() -> str:
    return f"triton {triton.__version__}"


@functools.cache
def triton_identity() -> str:
    """What compiling depends on, as a hash: Triton's files, as its wheel lists them with
    their hashes (ptxas is one of them), ours, and Python."""
    files = _distribution().read_text("RECORD") or triton.__version__
    here = Path(__file__).parents[1]
    own = [(here / name).read_bytes() for name in _OWN]
    parts = [files.encode(), sys.version.encode(), *own]
    return hashlib.sha256(b"\0".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


def _distribution() -> importlib.metadata.Distribution:
    """What the module was installed by: a fork of Triton has another name."""
    beside = os.path.dirname(os.path.dirname(triton.__file__))
    forks = importlib.metadata.distributions(name="fbtriton", path=[beside])
    return next(iter(forks), None) or importlib.metadata.distribution("triton")


def is_compile_error(problem: BaseException) -> bool:
    """The compiler's own errors, and whatever else ended a compilation: its later
    passes raise RuntimeError."""
    if isinstance(problem, (CompileFailed, Denied, CompilationError, PTXASError, OutOfResources)):
        return True
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is triton.compile.__code__:
            return True
        trace = trace.tb_next
    return False


def gpu_target(name: str) -> GPUTarget:
    """`sm_90` and `sm_90a` as Triton names them."""
    return GPUTarget("cuda", int(name.removeprefix("sm_").rstrip("a")), 32)


class NoDevice:
    """Stands where Triton's driver would: it knows which GPU is meant, and has none."""

    launcher_cls = None

    def __init__(self, gpu: GPUTarget) -> None:
        self.target = gpu

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda

    @staticmethod
    def is_active() -> bool:
        return True


# ---- kernels -----------------------------------------------------------------


class Kernels:
    """The kernels of one trace. `make` turns a checked kernel and the names that it gets
    into what is launched."""

    def __init__(
        self, source: str, specs: list[dict], make: Callable[[Kernel, dict, dict, str], Any]
    ) -> None:
        self.tree = kernel_language.parse_source(source)
        self.specs = specs
        self.make = make
        self.made: dict[int, Any] = {}
        self._open: set[int] = set()

    def get(self, k: int) -> Any:
        if k not in self.made:
            if k in self._open:
                raise Denied(f"the kernel {self.specs[k]['name']} calls itself")
            self._open.add(k)
            self.made[k] = self._build(k)
            self._open.discard(k)
        return self.made[k]

    def _build(self, k: int) -> Any:
        spec = self.specs[k]
        kernel = kernel_language.extract(self.tree, spec)
        space: dict[str, Any] = {"__name__": f"kernel_{k}", "__builtins__": {}, kernel_language.LANGUAGE: tl}
        for name in kernel.used:
            space[name] = self.value(spec["bind"][name])
        for name in kernel.defaults:
            space[kernel_language.default_name(name)] = self.value(spec["defaults"][name])
        return self.make(kernel, spec, space, f"<kernel {k} {kernel.name}>")

    def value(self, raw: Any, depth: int = 0) -> Any:
        """A BIND or an ARG without tensors as Python's value."""
        if depth > DEEPEST:
            raise Denied("tuples are nested too deeply")
        if not isinstance(raw, dict):
            return raw
        ((kind, content),) = raw.items()
        if kind == "value":
            return self.value(content, depth + 1)
        if kind == "constexpr":
            return tl.constexpr(self.value(content, depth + 1))
        if kind == "tuple":
            return tuple(self.value(c, depth + 1) for c in content)
        if kind == "layout":
            name, fields = content
            return layout(name, {n: self.value(v, depth + 1) for n, v in fields.items()})
        known = {"float": float, "dtype": dtype, "kernel": self.get, "module": _module,
                 "from": _taken}  # fmt: skip
        if kind not in known:
            raise Denied(f"a kernel cannot use a value of type {content}")
        return known[kind](content)


def no_launch(self: Any, grid: Any) -> Any:
    """In place of `kernel[grid]`: kernels call kernels, they do not launch them."""
    raise Denied("a kernel launches a kernel")


def check_constant(name: str, raw: Any) -> None:
    """The argument of a constexpr parameter. A tensor there would be Python's, and computed
    with by Python."""
    if not isinstance(raw, dict):
        return
    ((kind, content),) = raw.items()
    if kind in ("t", "desc", "reinterpret"):
        raise Denied(f"{name} is tl.constexpr and is given a tensor")
    if kind == "tuple":
        for part in content:
            check_constant(name, part)


def define(text: str, code: CodeType, name: str, space: dict, file: str) -> Any:
    """The function, with its text where Triton and tracebacks look for it."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    held: dict[str, Any] = {}
    exec(code, space, held)
    made = held[name]
    made.__module__ = space["__name__"]
    return made


def dtype(name: str) -> tl.dtype:
    if name.startswith("pointer<") and name.endswith(">"):
        return tl.pointer_type(dtype(name[8:-1]))
    if name not in _DTYPES:
        raise Denied(f"the dtype {name[:40]}")
    return tl.dtype(name)


def layout(name: str, fields: dict[str, Any]) -> Any:
    """One of Gluon's layouts. Its fields are lists where they are tuples in the trace."""
    if name not in LAYOUTS or not all(map(kernel_language.is_plain, fields)):
        raise Denied(f"the layout {name[:40]}")
    from triton.experimental.gluon import language as gl

    return getattr(gl, name)(**{n: _lists(v) for n, v in fields.items()})


def _lists(value: Any) -> Any:
    return [_lists(v) for v in value] if isinstance(value, tuple) else value


def _module(name: str) -> Any:
    if name not in MODULES:
        raise Denied(f"the module {name[:80]} is not part of the kernel language")
    return importlib.import_module(name)


def _taken(path: list[str]) -> Any:
    module, name = path
    names = NAMES[MODULES[module]] if module in MODULES else None
    if names is None or name not in names.functions | names.classes | names.values:
        raise Denied(f"{module[:80]}.{name[:80]} is not part of the kernel language")
    return getattr(_module(module), name)


# ---- once, in the zygote -----------------------------------------------------


def warm_up_compiler(compile: Callable[[dict], bytes], source: str, spec: dict, args: dict) -> None:
    """Compiles a kernel and forgets it: this fills what Triton keeps in memory, and
    touches no GPU. Triton would hash its library for a folder that is used once."""
    triton.runtime.cache.triton_key = triton_identity
    launch = {"kernel": 0, "grid": [1], "args": args, "options": {}, "tuned": False}
    request = {"source": source, "kernels": [spec], "groups": [], "target": "sm_90",
               "launches": [launch]}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        old = os.environ.get("TRITON_CACHE_DIR")
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            compile(request)
        finally:
            if old is None:
                del os.environ["TRITON_CACHE_DIR"]
            else:
                os.environ["TRITON_CACHE_DIR"] = old
