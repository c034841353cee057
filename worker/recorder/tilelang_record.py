"""What tilelang.compile and @tilelang.jit return while a candidate is recorded: nothing is
compiled, and a call becomes a launch of the trace. The kernel travels as TVM's JSON.

  KERNEL = {"name", "text": number of the IR among the texts, "configs": {…}, "flags": […]}
  launch = {"op": "launch", "kernel": k, "grid": [1], "args": {"p0": ARG, …}, "options": {},
            "tuned": [{"grid", "args", "options": {"kernel": k}}, …]}

Arguments are checked as TileLang's own host code checks them, so that what is wrong shows
with the candidate's line."""

import hashlib
import importlib
import json
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import tilelang.autotuner.tuner as tuner
import torch
import tvm
from tilelang.autotuner.param import AutotuneResult
from tilelang.engine.param import KernelParam
from tvm import tirx
from tvm.tirx.stmt_functor import substitute

MAX_CONFIGURATIONS = 64
_KINDS = ("cuda", "c", "auto")

_current: Callable[[], Any] = lambda: None  # the recorder, while forward runs


def install_tilelang(current: Callable[[], Any]) -> None:
    """Compiling goes through one function of tilelang.jit, tuning through one of the tuner."""
    global _current
    _current = current
    jit = importlib.import_module("tilelang.jit")  # tilelang.jit itself is the decorator
    jit.cached = _compile
    jit.JITImpl._get_frontend_target_context = lambda self: nullcontext()
    tuner.AutoTuner.run = _tune


def _compile(
    func: tirx.PrimFunc, out_idx: Any = None, execution_backend: Any = None, target: Any = None,
    target_host: Any = None, verbose: Any = None, pass_configs: Any = None,
    compile_flags: Any = None,
) -> "Kernel":  # fmt: skip
    _check_target(target)
    return Kernel(func, out_idx, pass_configs, compile_flags)


def _check_target(target: Any) -> None:
    """The verifier chooses the target; a literal must not ask for another language."""
    if target is None:
        return
    kind = target.get("kind") if isinstance(target, dict) else str(getattr(target, "kind", target))
    if str(kind).split()[0] not in _KINDS:
        raise ValueError(f"target={kind!r}: kernels are compiled for CUDA; leave target= out")


def _tilelang_recorder(name: str) -> Any:
    recorder = _current()
    if recorder is None:
        raise RuntimeError(
            f"the kernel {name} is called outside ModelNew.forward, where nothing is computed; "
            "call it in forward"
        )
    return recorder


# ---- kernels -------------------------------------------------------------------


class Kernel:
    """Stands for a compiled kernel."""

    def __init__(self, func: tirx.PrimFunc, out_idx: Any, configs: Any, flags: Any) -> None:
        self.prim_func = func
        self.name = str(func.attrs["global_symbol"])
        self.params = [_param(func, var) for var in func.params]
        self.out_idx = _outputs(out_idx, len(self.params))
        self.configs = {str(getattr(k, "value", k)): _json_value(v) for k, v in (configs or {}).items()}
        self.flags = _flags(flags)
        self.flags += _flags(self.configs.pop("tl.device_compile_flags", None))
        self._told: tuple | None = None

    def __call__(self, *inputs: Any) -> Any:
        recorder = _tilelang_recorder(self.name)
        values = self.arguments(inputs)
        recorder.launch({"op": "launch", "kernel": self.number(recorder), "grid": [1],
                         "args": _args(recorder, values), "options": {}})  # fmt: skip
        return self.results(values)

    def number(self, recorder: Any) -> int:
        """Of this kernel in the trace."""
        if self._told is None:
            text = _json(self.prim_func)
            digest = hashlib.sha256(text.encode()).hexdigest()
            key = ("tilelang", digest, json.dumps([self.configs, self.flags], sort_keys=True))
            self._told = key, text
        key, text = self._told
        spec = {"name": self.name, "text": recorder.text(text), "configs": self.configs,
                "flags": self.flags}  # fmt: skip
        return recorder.kernel(key, spec)

    def arguments(self, inputs: tuple) -> list[Any]:
        """All of them, with the outputs that are allocated here."""
        wanted = len(self.params) - len(self.out_idx)
        if len(inputs) != wanted:
            raise ValueError(f"Kernel expected {wanted} inputs, but {len(inputs)} are provided.")
        rest = iter(inputs)
        given = [None if i in self.out_idx else next(rest) for i in range(len(self.params))]
        known: dict[tirx.Var, int] = {}
        for param, value in zip(self.params, given):
            if value is not None:
                param.bind(value, known, self.name)
        for param, value in zip(self.params, given):
            if value is not None:
                param.check(value, known, self.name)
        device = next((v.device for v in given if isinstance(v, torch.Tensor)), None)
        for i in self.out_idx:
            given[i] = self.params[i].allocate(known, device or _tilelang_recorder(self.name).claims)
        return given

    def results(self, values: list[Any]) -> Any:
        found = [values[i] for i in self.out_idx]
        return None if not found else found[0] if len(found) == 1 else found

    def get_kernel_source(self, *_: Any, **__: Any) -> str:
        return ""  # nothing is compiled here, and what it would be used for is looking at it

    def show_source(self, *_: Any, **__: Any) -> None:
        return None

    def get_profiler(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(
            "a profiler measures, which is not possible where forward is recorded; choose the "
            "configuration yourself, or use @tilelang.autotune"
        )


class Tuned:
    """Stands for the best of several kernels, which the judge finds."""

    def __init__(self, kernels: list[Kernel], left_out: int) -> None:
        self.kernels, self.left_out = kernels, left_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["kernels"][0], name)

    def __call__(self, *inputs: Any) -> Any:
        first = self.kernels[0]
        recorder = _tilelang_recorder(first.name)
        values = first.arguments(inputs)
        args = _args(recorder, values)
        numbers = [kernel.number(recorder) for kernel in self.kernels]
        tuned = [{"grid": [1], "args": args, "options": {"kernel": n}} for n in numbers]
        recorder.launch({"op": "launch", "kernel": numbers[0], "grid": [1], "args": args,
                         "options": {"kernel": numbers[0]}, "tuned": tuned,
                         "left_out": self.left_out})  # fmt: skip
        return first.results(values)


def _tune(self: Any, *_: Any, **__: Any) -> Any:
    """Every configuration that can be built; what is fastest is measured elsewhere."""
    configs = self.configs
    if callable(configs):
        args, kwargs = self._kernel_parameters
        configs = configs(*args, **dict(kwargs))
    compile_one, _ = self._ensure_jit_functions()
    kernels, used, problem = [], [], None
    configs = list(configs)
    for config in configs[:MAX_CONFIGURATIONS]:
        options = {k: v for k, v in config.items() if k != "pass_configs"}
        try:
            kernels.append(compile_one(**options, __pass_configs__=config.get("pass_configs")))
            used.append(config)
        except Exception as error:  # noqa: BLE001 - the tuner goes on as well
            problem = problem or error
    if not kernels:
        raise problem or ValueError("No configurations to tune, please check your `@autotune` "
                                    "decorator")  # fmt: skip
    left_out = max(0, len(configs) - MAX_CONFIGURATIONS)
    kernel = Tuned(kernels, left_out) if len(kernels) > 1 else kernels[0]
    return AutotuneResult(latency=0.0, config=used[0], func=kernels[0].prim_func, kernel=kernel)


def _json(func: tirx.PrimFunc) -> str:
    """Without what only tells where it was written or what is recorded besides it."""
    for name in ("tilelang_pass_configs", "tilelang_compile_flags"):
        if func.attrs and name in func.attrs:
            func = func.without_attr(name)
    graph = json.loads(tvm.ir.save_json(func))
    for node in graph["nodes"]:
        if node["type"] == "ir.SourceName":
            node["data"] = "candidate.py"
    return json.dumps(graph, separators=(",", ":"))


def _json_value(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, list)) else str(value)


def _flags(flags: Any) -> list[str]:
    if flags is None:
        return []
    listed = [flags] if isinstance(flags, str) else [str(flag) for flag in flags]
    return [word for flag in listed for word in shlex.split(flag)]


def _outputs(raw: Any, count: int) -> list[int]:
    listed = [] if raw is None else [raw] if isinstance(raw, int) else list(raw)
    for index in listed:
        if not -count <= index < count:
            raise ValueError(f"result_idx should be an integer between {-count} and {count - 1}")
    return [int(index) % count for index in listed]


# ---- parameters ------------------------------------------------------------------


def _param(func: tirx.PrimFunc, var: tirx.Var) -> "Tensor | Scalar":
    return Tensor(func.buffer_map[var]) if var in func.buffer_map else Scalar(var)


class Scalar:
    def __init__(self, var: tirx.Var) -> None:
        self.var, self.name, self.dtype = var, var.name, str(var.dtype)

    def bind(self, value: Any, known: dict, kernel: str) -> None:
        if isinstance(value, int):
            known[self.var] = int(value)

    def check(self, value: Any, known: dict, kernel: str) -> None:
        whole = self.dtype.startswith(("int", "uint", "bool"))
        if not isinstance(value, (bool, int) if whole else (bool, int, float)):
            raise TypeError(
                f"{kernel}.{self.name} takes a number of type {self.dtype}, got "
                f"{type(value).__name__}"
            )

    def allocate(self, known: dict, device: Any) -> Any:
        raise ValueError(f"the number {self.name} cannot be an output")


class Tensor:
    def __init__(self, buffer: tirx.Buffer) -> None:
        self.buffer, self.name = buffer, buffer.name
        self.dtype = KernelParam.from_buffer(buffer).torch_dtype()
        if str(buffer.dtype) not in _NAMES.get(self.dtype, (str(self.dtype)[6:],)):
            raise TypeError(f"{self.name}: tensors of {buffer.dtype} are not supported here")

    def bind(self, value: Any, known: dict, kernel: str) -> None:
        """Sizes that are variables take their value from the first tensor that has them."""
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{kernel}.{self.name} takes a tensor, got {type(value).__name__}")
        where = f"{kernel}.{self.name}"
        if value.dtype != self.dtype:
            raise RuntimeError(f"{where}.dtype is expected to be {self.buffer.dtype}, but got "
                               f"incompatible dtype {str(value.dtype)[6:]}")  # fmt: skip
        if value.dim() != len(self.buffer.shape):
            wanted = len(self.buffer.shape)
            raise RuntimeError(f"{where}.ndim is expected to equal {wanted}, but got mismatched "
                               f"ndim {value.dim()}")  # fmt: skip
        for dim, size in zip(self.buffer.shape, value.shape):
            if isinstance(dim, tirx.Var):
                known.setdefault(dim, int(size))
        for dim, stride in zip(self.buffer.strides, value.stride()):
            if isinstance(dim, tirx.Var):
                known.setdefault(dim, int(stride))

    def check(self, value: torch.Tensor, known: dict, kernel: str) -> None:
        shape = [_size(dim, known) for dim in self.buffer.shape]
        for i, (wanted, got) in enumerate(zip(shape, value.shape)):
            self._compare(f"{kernel}.{self.name}.shape[{i}]", wanted, got)
        for i, (wanted, got) in enumerate(zip(self._strides(shape, known), value.stride())):
            if shape[i] != 1:
                self._compare(f"{kernel}.{self.name}.strides[{i}]", wanted, got)

    @staticmethod
    def _compare(where: str, wanted: int | None, got: int) -> None:
        if wanted is not None and wanted != got:
            raise RuntimeError(f"Argument {where} has an unsatisfied constraint: {got} == {wanted}")

    def _strides(self, shape: list, known: dict) -> list[int | None]:
        if len(self.buffer.strides):
            return [_size(dim, known) for dim in self.buffer.strides]
        strides, count = [], 1
        for size in reversed(shape):
            strides.insert(0, count)
            count = None if count is None or size is None else count * size
        return strides

    def allocate(self, known: dict, device: Any) -> torch.Tensor:
        shape = [_size(dim, known) for dim in self.buffer.shape]
        if None in shape or not shape:
            dim = self.buffer.shape[shape.index(None)] if shape else "()"
            raise ValueError(
                f"Cannot resolve symbolic dimension {dim} of output parameter {self.name}"
            )
        return torch.empty(shape, dtype=self.dtype, device=device)


# Names that TVM has for a dtype of torch, where they differ.
_NAMES = {
    torch.bool: ("bool", "uint1"),
    torch.float8_e4m3fn: ("float8_e4m3fn", "float8_e4m3"),
    torch.float8_e5m2: ("float8_e5m2",),
}


def _size(dim: Any, known: dict) -> int | None:
    """None where it depends on something that the arguments do not say."""
    if isinstance(dim, (int, tirx.IntImm)):
        return int(dim)
    held = {var: tirx.IntImm(var.dtype, value) for var, value in known.items()}
    made = tvm.arith.Analyzer().simplify(substitute(dim, held))
    return int(made) if isinstance(made, tirx.IntImm) else None


def _args(recorder: Any, values: list[Any]) -> dict[str, Any]:
    return {f"p{i}": _arg(recorder, value) for i, value in enumerate(values)}


def _arg(recorder: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return {"t": recorder.view(value)}
    if isinstance(value, float) and not abs(value) < float("inf"):
        return {"float": repr(value)}
    return value
