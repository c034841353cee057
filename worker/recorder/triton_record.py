"""How launches of the Triton family become nodes of a trace. This runs in the process of
the candidate, which may change all of it: nothing here is believed, the judge checks what
arrives (triton_trace.py).

`current()` is the recorder while forward runs (shared/adapter.py)."""

import contextlib
import dis
import enum
import functools
import math
import operator
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import torch
import triton
import triton.language as tl
from shared.kernel_names import LAYOUTS, MODULES, NAMES
from shared.triton_common import NoDevice
from triton.backends.compiler import GPUTarget
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

MOST_TUNED = 16  # configurations of an autotuner that are recorded, from the first on
OPTIONS = {
    "num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion",
    "launch_cooperative_grid", "launch_pdl", "default_dot_input_precision", "debug",
}  # fmt: skip
_WITHOUT_EFFECT = {"instrumentation_mode", "stream", "warp_size", "sanitize_overflow"}
_PROPERTIES = {
    "max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32,
    "sm_clock_rate": 1980000, "mem_clock_rate": 3201000, "mem_bus_width": 6144,
}  # fmt: skip

_captured: list[list[dict]] = []  # not empty: launches go here, and not to the recorder


class LaunchedElsewhere(RuntimeError):
    """A kernel that is launched where nothing is recorded."""


class Device(NoDevice):
    """A GPU that is not there, as candidates ask Triton for it."""

    @property
    def utils(self) -> Any:
        return self

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        return dict(_PROPERTIES)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return divmod(self.target.arch, 10)

    def get_benchmarker(self) -> Callable:
        return _benchmark

    def get_empty_cache_for_benchmark(self) -> Any:
        return None

    def clear_cache(self, cache: Any) -> None:
        pass


def _benchmark(call: Callable, quantiles: tuple | None = None, **_: Any) -> Any:
    return [1.0] * len(quantiles) if quantiles else 1.0


class Compiled:
    """What warmup() and a launch return, as far as candidates look at it: they count
    registers to find how many programs fit, and launch it again."""

    n_regs, n_spills, n_max_threads = 32, 0, 1024
    function = module = None

    def __init__(self, kernel: JITFunction, options: dict, given: dict) -> None:
        self._kernel, self._options, self._given = kernel, options, given
        self.name = kernel.__name__
        self.asm: dict[str, str] = {}
        self.metadata = _Metadata(options)

    def _init_handles(self) -> None:
        pass

    def result(self) -> "Compiled":
        return self

    def __getitem__(self, grid: Any) -> Callable:
        def launch(*args: Any, stream: Any = None) -> "Compiled":
            later = self._kernel.arg_names[len(args) :]
            rest = {name: self._given[name] for name in later if name in self._given}
            return self._kernel.run(*args, grid=grid, warmup=False, **(self._options | rest))

        return launch


class _Metadata:
    shared = 1024
    num_ctas = 1
    num_warps = 4
    num_stages = 3

    def __init__(self, options: dict) -> None:
        self.__dict__.update(options)


def install_triton(current: Callable[[], Any], arch: int = 90) -> None:
    """Replaces launching, in this process, for good."""
    triton.runtime.driver.set_active(Device(GPUTarget("cuda", arch, 32)))

    def run(self: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Compiled:
        options = {k: v for k, v in kwargs.items() if k in OPTIONS and v is not None}
        if self.debug and not isinstance(self.debug, str):
            options.setdefault("debug", True)  # its assertions hold
        if not warmup:
            recorder = current()
            if recorder is None:
                raise LaunchedElsewhere(
                    f"the kernel {self.__name__} is launched outside forward: launch kernels in "
                    "forward, and nowhere else")  # fmt: skip
            for hook in self.pre_run_hooks:
                hook(*args, **kwargs)
            _launched(recorder, self, grid, args, kwargs, options)
        return Compiled(self, options, kwargs)

    def tuned(self: Autotuner, *args: Any, **kwargs: Any) -> Compiled:
        return _tuned(current(), self, args, kwargs)

    JITFunction.run = run
    Autotuner.run = tuned


# ---- launches ----------------------------------------------------------------


def _launched(
    recorder: Any, kernel: JITFunction, grid: Any, args: tuple, kwargs: dict, options: dict
) -> None:
    bound = _bound(kernel, args, kwargs)
    node = {
        "op": "launch",
        "kernel": _Values(recorder).kernel(kernel),
        "grid": _grid(recorder, kernel, grid, bound),
        "args": {name: _Values(recorder).argument(name, value) for name, value in bound.items()},
        "options": {name: _plain_value(value) for name, value in options.items()},
    }
    if _captured:
        _captured[-1].append(node)
    else:
        recorder.launch(node)


def _bound(kernel: JITFunction, args: tuple, kwargs: dict) -> dict[str, Any]:
    """The arguments by name, with defaults, as Triton's own binder does it."""
    names = list(kernel.signature.parameters)
    if len(args) > len(names):
        raise TypeError(f"{kernel.__name__}() takes {len(names)} arguments, {len(args)} were given")
    bound = dict(zip(names, args))
    for name, value in kwargs.items():
        if name in bound:
            raise TypeError(f"{kernel.__name__}() got multiple values for argument '{name}'")
        if name in kernel.signature.parameters:
            bound[name] = value
        elif name not in OPTIONS | _WITHOUT_EFFECT:
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    for name, parameter in kernel.signature.parameters.items():
        if name not in bound:
            if parameter.default is parameter.empty:
                raise TypeError(f"{kernel.__name__}() missing a required argument: '{name}'")
            bound[name] = parameter.default
    return {name: bound[name] for name in names}


def _grid(recorder: Any, kernel: JITFunction, grid: Any, bound: dict) -> list[int]:
    if callable(grid):
        grid = grid(dict(bound))
    if not isinstance(grid, (tuple, list)) or not 1 <= len(grid) <= 3:
        raise TypeError(f"the grid of {kernel.__name__} must be a tuple of one to three numbers, "
                        f"not {type(grid).__name__}")  # fmt: skip
    sizes = [operator.index(_plain_value(size)) for size in grid]
    if min(sizes) <= 0:
        recorder.refuse("grid-empty", f"the kernel {kernel.__name__} is launched on the grid "
                        f"{tuple(sizes)}, which has no programs")  # fmt: skip
    return sizes


def _tuned(recorder: Any, tuner: Autotuner, args: tuple, kwargs: dict) -> Compiled:
    """Every configuration as it would be launched; the first one is what is executed unless
    another turns out faster. Hooks run as Triton runs them: the tuner's own while it tunes,
    which is when it sees its key for the first time, a configuration's before each launch."""
    tuner.nargs = dict(zip(tuner.arg_names, args))
    every = tuner.prune_configs(kwargs)
    configs = every[:MOST_TUNED]
    key = _tuning_key(tuner, kwargs)
    if len(tuner.configs) > 1 and key not in tuner.cache:
        tuner.cache[key] = configs[0]
        tuner.pre_hook(_all(tuner, kwargs, configs[0]), reset_only=True)
    others = []
    for config in reversed(configs[1:]):
        others.insert(0, _captured_launch(tuner, args, kwargs, config)[0])
    node, made = _captured_launch(tuner, args, kwargs, configs[0])
    tuner.best_config, tuner.nargs = configs[0], None
    if others:
        parts = ("grid", "args", "options")
        node["tuned"] = [{part: n[part] for part in parts} for n in (node, *others)]
    if len(every) > len(configs):
        node["left_out"] = len(every) - len(configs)
    if _captured:
        _captured[-1].append(node)
    else:
        recorder.launch(node)
    return made


def _tuning_key(tuner: Autotuner, kwargs: dict) -> tuple:
    given = {k: v for k, v in {**tuner.nargs, **kwargs}.items() if k in tuner.arg_names}
    key = [given[name] for name in tuner.keys if name in given]
    key += [str(value.dtype) for value in given.values() if hasattr(value, "dtype")]
    return tuple(key)


def _all(tuner: Autotuner, kwargs: dict, config: Any) -> dict[str, Any]:
    return {**tuner.nargs, **kwargs, **config.all_kwargs()}


def _captured_launch(
    tuner: Autotuner, args: tuple, kwargs: dict, config: Any
) -> tuple[dict, Compiled]:
    """The launch of one configuration, which is kept from the recorder."""
    if config.pre_hook is not None:
        config.pre_hook(_all(tuner, kwargs, config))
    nodes: list[dict] = []
    _captured.append(nodes)
    try:
        made = tuner.fn.run(*args, **kwargs, **config.all_kwargs())
    finally:
        _captured.pop()
    return nodes[0], made


# ---- values ------------------------------------------------------------------


class _Values:
    """Values in the form that the trace has."""

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder
        self.open: list[JITFunction] = []

    def argument(self, name: str, value: Any) -> Any:
        """An ARG."""
        value = _unwrapped(value)
        if isinstance(value, TensorWrapper):
            return {"reinterpret": [self.recorder.view(value.base), _dtype_name(value.dtype)]}
        if isinstance(value, torch.Tensor):
            return {"t": self.recorder.view(value)}
        if _is_descriptor(value):
            return {"desc": self._descriptor(name, value)}
        if isinstance(value, (tuple, list)):
            return {"tuple": [self.argument(name, part) for part in value]}
        constant = self._constant(value)
        if constant is None:
            self.recorder.refuse(
                "argument", f"the argument {name} of a kernel is of type {type(value).__name__}; "
                "kernels take tensors, numbers, strings, dtypes, kernels, tensor descriptors and "
                "tuples of these")  # fmt: skip
        return constant["value"] if "value" in constant else constant

    def _constant(self, value: Any) -> dict | None:
        """What arguments and bound names have in common."""
        value = _plain_value(value)
        if value is None or isinstance(value, (bool, int, str)):
            return {"value": value}
        if isinstance(value, float):
            return {"value": value if math.isfinite(value) else {"float": str(value)}}
        if isinstance(value, tl.dtype):
            return {"dtype": _dtype_name(value)}
        if isinstance(value, torch.dtype) or _wrapped_kernel(value) is None:
            return self._layout(value)
        kernel = _wrapped_kernel(value)
        if any(kernel is one for one in self.open):
            return {"unknown": "kernel that calls itself"}
        return {"kernel": self.kernel(kernel)}

    def _layout(self, value: Any) -> dict | None:
        if type(value).__name__ not in LAYOUTS or not hasattr(value, "__dataclass_fields__"):
            return None
        fields = {}
        for name, one in value.__dataclass_fields__.items():
            if one.init:
                fields[name] = self._field(getattr(value, name))
        return {"layout": [type(value).__name__, fields]}

    def _field(self, value: Any) -> Any:
        value = _unwrapped(value)
        if isinstance(value, (tuple, list)):
            return {"tuple": [self._field(part) for part in value]}
        constant = self._constant(value) or {"value": None}
        return constant["value"] if "value" in constant else constant

    def _descriptor(self, name: str, value: Any) -> list:
        layout = getattr(value, "layout", None)
        sizes = ([operator.index(_unwrapped(n)) for n in part]
                 for part in (value.shape, value.strides, value.block_shape))  # fmt: skip
        return [self.recorder.view(value.base), *sizes, value.padding,
                None if layout is None else self._layout(layout),
                bool(getattr(value, "round_f32_to_tf32", False))]  # fmt: skip

    # ---- kernels and the names they take from outside ----

    def kernel(self, kernel: JITFunction) -> int:
        """Its number. It is described once: later launches know it."""
        return self.recorder.kernel(kernel.fn, lambda: self._kernel(kernel))

    def _kernel(self, kernel: JITFunction) -> dict:
        self.open.append(kernel)
        function, parameters = kernel.fn, kernel.signature.parameters
        spec = {
            "name": function.__name__,
            "line": function.__code__.co_firstlineno,
            "bind": {name: self.bound(value) for name, value in _outside(function)},
            "defaults": {name: self.bound(p.default) for name, p in parameters.items()
                         if p.default is not p.empty},
            "noinline": bool(kernel.noinline),
            "do_not_specialize": list(kernel.do_not_specialize),
            "do_not_specialize_on_alignment": list(kernel.do_not_specialize_on_alignment),
            "language": "gluon" if kernel.is_gluon() else "triton",
        }  # fmt: skip
        self.open.pop()
        return spec

    def bound(self, value: Any) -> dict:
        """A BIND (kernel_language.py)."""
        if isinstance(value, tl.constexpr):
            return {"constexpr": self.bound(value.value)}
        if type(value) is type(sys):
            return {"module": value.__name__}
        found = _of_language().get(id(value))
        if found is not None and not isinstance(value, tl.dtype):
            return {"from": list(found)}
        if isinstance(value, (tuple, list)):
            return {"tuple": [self.bound(part) for part in value]}
        constant = self._constant(value)
        return constant if constant is not None else {"unknown": type(value).__name__}


def _unwrapped(value: Any) -> Any:
    while isinstance(value, tl.constexpr):
        value = value.value
    return value


def _plain_value(value: Any) -> Any:
    """Enumerations and NumPy's numbers as Python's own."""
    value = _unwrapped(value)
    if isinstance(value, enum.Enum):
        value = value.value
    if type(value).__module__ == "numpy" and not hasattr(value, "__len__"):
        value = value.item() if hasattr(value, "item") else value
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _dtype_name(value: Any) -> str:
    if isinstance(value, torch.dtype):
        from triton._utils import canonicalize_dtype

        short = canonicalize_dtype(value)
        return {"u1": "int1"}.get(short, _LONG.get(short, short))
    if isinstance(value, tl.pointer_type):
        return f"pointer<{_dtype_name(value.element_ty)}>"
    return value.name


_LONG = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
         "u16": "uint16", "u32": "uint32", "u64": "uint64"}  # fmt: skip


def _is_descriptor(value: Any) -> bool:
    if isinstance(value, TensorDescriptor):
        return True
    hopper = sys.modules.get("triton.experimental.gluon.nvidia.hopper")
    return hopper is not None and isinstance(value, hopper.TensorDescriptor)


def _wrapped_kernel(value: Any) -> JITFunction | None:
    """The kernel in an autotuner or heuristics."""
    for _ in range(8):
        if isinstance(value, JITFunction):
            return value
        value = getattr(value, "fn", None)
    return None


def _outside(function: Any) -> Iterator[tuple[str, Any]]:
    """The names that a function takes from its closure and module, with their values."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for name in _names(function.__code__):
        if name in cells:
            with contextlib.suppress(ValueError):  # not filled yet
                yield name, cells[name].cell_contents
        elif name in function.__globals__:
            yield name, function.__globals__[name]


@functools.lru_cache(maxsize=1000)
def _names(code: CodeType) -> tuple[str, ...]:
    loads = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
    return tuple(dict.fromkeys(i.argval for i in dis.get_instructions(code) if i.opname in loads))


_origins: dict[int, tuple[str, str]] = {}


def _of_language() -> dict[int, tuple[str, str]]:
    """Where the language's own functions are found, by identity."""
    if not _origins:
        for module, key in MODULES.items():
            names, loaded = NAMES[key], sys.modules.get(module)
            if loaded is None:
                continue
            for name in names.functions | names.classes | names.values:
                if not isinstance(getattr(loaded, name, 0), int):
                    _origins.setdefault(id(getattr(loaded, name)), (module, name))
    return _origins
