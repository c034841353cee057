"""libdevice.py: the functions of NVIDIA's libdevice that kernels use, for Triton's interpreter,
which has none of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl
from executor.triton_interpret import lacks
from shared.kernel_names import NAMES
from triton.runtime import interpreter as it


def _by_torch(function: Callable) -> Callable:
    def compute(*args: np.ndarray) -> np.ndarray:
        return function(*(torch.from_numpy(np.ascontiguousarray(a)) for a in args)).numpy()

    return compute


def _round(x: np.ndarray) -> np.ndarray:
    """Halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + np.array(0.5, x.dtype)), x)


def _power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.power(x, y.astype(x.dtype))


_SAME: dict[str, Callable] = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "add_rn": np.add, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh,
    "cbrt": np.cbrt, "ceil": np.ceil, "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh,
    "cospi": lambda x: np.cos(np.pi * x), "div_rn": np.divide, "erf": _by_torch(torch.erf),
    "erfc": _by_torch(torch.erfc), "erfinv": _by_torch(torch.erfinv), "exp": np.exp,
    "exp10": lambda x: np.power(np.array(10, x.dtype), x), "exp2": np.exp2, "expm1": np.expm1,
    "fast_cosf": np.cos, "fast_dividef": np.divide, "fast_expf": np.exp, "fast_log10f": np.log10,
    "fast_exp10f": lambda x: np.power(np.array(10, x.dtype), x), "fast_log2f": np.log2,
    "fast_logf": np.log, "fast_powf": _power, "fast_sinf": np.sin, "fast_tanf": np.tan,
    "fast_tanhf": np.tanh, "fdim": lambda x, y: np.maximum(x - y, 0), "floor": np.floor,
    "fma": lambda x, y, z: x * y + z, "fma_rn": lambda x, y, z: x * y + z, "fmod": np.fmod,
    "hypot": np.hypot, "lgamma": _by_torch(torch.lgamma), "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "mul_rn": np.multiply, "nearbyint": np.rint,
    "normcdf": _by_torch(torch.special.ndtr), "pow": _power, "rcbrt": lambda x: 1 / np.cbrt(x),
    "rcp_rn": np.reciprocal, "rint": np.rint, "round": _round, "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsqrt_rn": lambda x: 1 / np.sqrt(x), "saturatef": lambda x: np.clip(x, 0, 1), "sin": np.sin,
    "sinh": np.sinh, "sinpi": lambda x: np.sin(np.pi * x), "sqrt": np.sqrt, "sqrt_rn": np.sqrt,
    "sub_rn": np.subtract, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
}  # the result has the type of the first argument  # fmt: skip
_TRUTH: dict[str, Callable] = {
    "isnan": np.isnan, "isinf": np.isinf, "finitef": np.isfinite, "isfinited": np.isfinite,
    "signbit": np.signbit,
}  # fmt: skip


def _function(name: str, compute: Callable, truth: bool) -> Callable:
    def function(*args: Any, **_: Any) -> tl.core.tensor:
        given = [it.interpreter_semantic.to_tensor(a) for a in args]
        kind = given[0].dtype
        if kind not in (tl.float32, tl.float64):
            raise TypeError(f"libdevice.{name} takes float32 and float64, not {kind}")
        with np.errstate(all="ignore"):
            data = np.asarray(compute(*(g.handle.data for g in given)))
        result = tl.int1 if truth else kind
        data = data.astype(it._get_np_dtype(result))
        is_block = any(g.type.is_block() for g in given)
        shaped = tl.block_type(result, list(data.shape)) if is_block else result
        return tl.core.tensor(it.TensorHandle(data, result), shaped)

    return function


def apply() -> None:
    from triton.language.extra import libdevice
    from triton.language.extra.cuda import libdevice as of_cuda

    for name in NAMES["libdevice"].functions - _SAME.keys() - _TRUTH.keys():
        for module in (libdevice, of_cuda):
            setattr(module, name, lacks(f"libdevice.{name}"))
    for functions, truth in ((_SAME, False), (_TRUTH, True)):
        for name, compute in functions.items():
            for module in (libdevice, of_cuda):
                setattr(module, name, _function(name, compute, truth))
