"""adapter.py: how the verifier runs this pack's candidates. Trusted; called in the
zygote and in each child (docs/PACKS.md, "adapter.py").

On the CPU kernels run in Triton's interpreter, with its known defects repaired
(repairs.py), and whatever was launched is compiled for a GPU afterwards: the
interpreter accepts code that the compiler refuses. On CUDA Triton's own hook
tells the launches.
"""

import functools
import json
import os
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
import triton
import triton.language as tl
import triton_common
from torch.utils._python_dispatch import _disable_current_modes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction, mangle_type
from triton_common import folders, is_compile_error, version  # noqa: F401 - of the interface

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_WARM = """
import triton
import triton.language as tl
@triton.jit
def warm(p, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(p + i, mask=i < n, other=0.0)
    tl.store(p + i, x + tl.sum(x, axis=0), mask=i < n)
"""


@dataclass
class Launch:
    kernel: Any
    args: tuple
    kwargs: dict


_distinct: dict[tuple, Launch] = {}  # since the start: what must compile
_muted: list[bool] = []  # not empty: launches are counted and do nothing


def prepare(mode: str) -> None:
    """Once, in the zygote, for the device it serves or for "compile". Compiling
    fills Triton's own caches and touches no GPU; an interpreting zygote cannot
    compile, since the library itself is interpreted there."""
    compiler()
    if mode == "cpu":
        import repairs

        repairs.apply()
        return
    signature = {"p": "*fp32", "n": "i32", "B": "constexpr"}
    triton_common.warm_up(_WARM, lambda module: ASTSource(module.warm, signature, {"B": 64}))


def child(mode: str) -> None:
    """In each child, before the candidate's source is read."""
    if mode == "cpu":
        _watch_interpreter()
    elif mode != "compile":
        triton_common.watch_launches()


def _watch_interpreter() -> None:
    from triton.runtime.interpreter import InterpretedFunction

    run = InterpretedFunction.run

    def watched_run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup:
            return None
        triton_common.launched.append(self.fn.__name__)
        key = (self.fn.__qualname__, tuple(_kinds(args)), tuple(_kinds(kwargs.values())))
        _distinct.setdefault(key, Launch(self, args, kwargs))
        if _muted:
            return None
        # The interpreter's own tensor handling is not the candidate's.
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            return run(self, *args, grid=grid, warmup=warmup, **kwargs)

    InterpretedFunction.run = watched_run


def _kinds(values: Any) -> list[str]:
    return [
        str(v.dtype) if isinstance(v, torch.Tensor) else f"{type(v).__name__} {v}"[:60]
        for v in values
    ]


def watched() -> list[ModuleType | type]:
    """What a candidate must leave as it is."""
    import triton.testing
    from triton.runtime import interpreter

    return [triton, tl, triton.testing, triton.compiler, interpreter, JITFunction, ASTSource,
            interpreter.InterpretedFunction, interpreter.GridExecutor,
            interpreter.InterpreterBuilder, triton_common, sys.modules[__name__]]  # fmt: skip


def reset() -> None:
    triton_common.launched.clear()


def launches() -> list[str]:
    return list(triton_common.launched)


def mute() -> bool:
    """From now on kernels do nothing; False where that cannot be done."""
    from triton.runtime.interpreter import InterpretedFunction

    _muted.append(True)
    if InterpretedFunction.run.__name__ == "watched_run":
        return True
    return triton_common.mute_launches()


# ---- compiling what was interpreted -------------------------------------------


def describe() -> list[dict]:
    """The distinct launches so far, for a process that compiles: those that differ in
    the value of an argument alone are one."""
    found = [_described(launch) for launch in _distinct.values()]
    return list({json.dumps(launch, sort_keys=True): launch for launch in found}.values())


@functools.cache
def _compilable(fn: Any) -> JITFunction:
    return JITFunction(fn)


def _described(launch: Launch) -> dict:
    kernel = _compilable(launch.kernel.fn)
    values = dict(zip(kernel.arg_names, launch.args))
    values |= {k: v for k, v in launch.kwargs.items() if k in kernel.arg_names}
    for name, parameter in kernel.signature.parameters.items():
        if name not in values and parameter.default is not parameter.empty:
            values[name] = parameter.default
    signature, constants = {}, {}
    for param in kernel.params:
        value = values.get(param.name)
        if param.is_constexpr or value is None:
            signature[param.name] = "constexpr"
            constants[param.name] = _constant(getattr(value, "value", value))
        else:
            signature[param.name] = mangle_type(value)
    options = {k: v for k, v in launch.kwargs.items() if k in _OPTIONS}
    return {
        "name": launch.kernel.fn.__qualname__,
        "line": launch.kernel.fn.__code__.co_firstlineno,
        "signature": signature,
        "constants": constants,
        "options": options,
    }


def _constant(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, tl.dtype):
        return {"dtype": str(value)}
    if hasattr(value, "fn"):
        return {"kernel": value.fn.__qualname__}
    return {"unknown": type(value).__name__}


def compiler() -> str | None:
    return triton_common.compiler(__file__)


def compile(source: str, folder: str, described: list[dict], target: str) -> str | None:
    """In a compiling child: the first launch that does not compile for `target`
    (sm_NN), as text."""
    path = os.path.join(folder, "compiled_candidate.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    module = triton_common.import_file(path, "compiled_candidate")
    gpu = triton_common.target(target)
    for launch in described:
        try:
            _compile(module, launch, gpu)
        except Exception as problem:  # noqa: BLE001 - any refusal counts
            return f"{launch['name']}: {type(problem).__name__}: {problem}"
    return None


def _compile(module: ModuleType, launch: dict, gpu: GPUTarget) -> None:
    kernel = _find(module, launch["name"])
    # Without a line the file is made of kernels alone, and was looked through before.
    if launch["line"] is not None and kernel.fn.__code__.co_firstlineno != launch["line"]:
        raise TypeError("another kernel of this name was launched: the file defines it differently "
                        "where it is interpreted")  # fmt: skip
    constants = {k: _value(module, v) for k, v in launch["constants"].items()}
    signature = {name: _type(told) for name, told in launch["signature"].items()}
    source = ASTSource(kernel, signature, constants)
    triton.compile(source, target=gpu, options=launch["options"])


def _type(told: Any) -> Any:
    """Types of a tuple's members, which were a list on the way."""
    return tuple(map(_type, told)) if isinstance(told, list) else told


def _value(module: ModuleType, told: dict) -> Any:
    if "dtype" in told:
        return tl.dtype(told["dtype"])
    if "kernel" in told:
        return _find(module, told["kernel"])
    if "unknown" in told:
        raise TypeError(f"a constant of type {told['unknown']} cannot be compiled apart")
    return told["value"]


def _find(module: ModuleType, name: str) -> JITFunction:
    """The kernel of that name, without the autotuner round it."""
    if "<locals>" in name:
        raise TypeError(f"{name}: define kernels at module level")
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    while not isinstance(found, JITFunction):
        found = found.fn
    return found
