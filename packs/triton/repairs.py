"""repairs.py: what Triton's interpreter (3.6 to 3.8) does wrong on the CPU, put
right before any candidate runs: bf16 arithmetic on raw bits, truncation where
hardware rounds to nearest, and sums of integers that do not wrap."""

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, ReduceScanOpInterface, TensorHandle

_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")


def _to_float(handle: TensorHandle) -> np.ndarray:
    """bf16 bits as float32 values."""
    return (handle.data.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _to_bits(values: np.ndarray) -> np.ndarray:
    """float32 values as bf16 bits, rounded to nearest even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def _is_bf16(handle: Any) -> bool:
    return handle.dtype.scalar == tl.bfloat16


def _repair_dot() -> None:
    old = InterpreterBuilder.create_dot

    def create_dot(self: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
        if _is_bf16(a) and _is_bf16(b):
            a = TensorHandle(_to_float(a), tl.float32)
            b = TensorHandle(_to_float(b), tl.float32)
        return old(self, a, b, d, *rest)

    InterpreterBuilder.create_dot = create_dot


def _repair_arithmetic() -> None:
    old = InterpreterBuilder.binary_op

    def binary_op(self: Any, left: Any, right: Any, op: Any) -> Any:
        if not _is_bf16(left) or op.__name__ in _BITWISE:
            return old(self, left, right, op)
        result = op(_to_float(left), _to_float(right))
        if result.dtype == bool:
            return TensorHandle(result, tl.int1)
        return TensorHandle(_to_bits(result), tl.bfloat16)

    InterpreterBuilder.binary_op = binary_op


def _repair_casts() -> None:
    old = InterpreterBuilder.cast_impl

    def cast_impl(self: Any, source: Any, target: Any) -> Any:
        if source.dtype.scalar == tl.float32 and target.scalar == tl.bfloat16:
            return TensorHandle(_to_bits(source.data), target.scalar)
        return old(self, source, target)

    InterpreterBuilder.cast_impl = cast_impl
    InterpreterBuilder.create_fp_trunc = cast_impl


def _repair_sums() -> None:
    """NumPy adds narrow integers as wide ones, and one result alone would not become narrow again."""
    old = ReduceScanOpInterface.to_tensor

    def to_tensor(self: Any, found: Any, dtype: Any) -> Any:
        if isinstance(found, np.integer):
            found = found.astype(interpreter._get_np_dtype(dtype))
        return old(self, found, dtype)

    ReduceScanOpInterface.to_tensor = to_tensor


def apply() -> None:
    _repair_dot()
    _repair_arithmetic()
    _repair_casts()
    _repair_sums()
