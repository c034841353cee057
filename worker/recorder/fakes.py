"""Tensors without data: shape, strides, dtype, aliasing and device are real, the memory is
not there. The recorder runs a candidate's Python over them.

A fake tensor lies over a meta tensor's storage, so that torch itself keeps track of views;
it claims another device. Tensors that share memory share a storage, and a storage is a
`Store` here (memory.py).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import torch

META = torch.device("meta")
CPU = torch.device("cpu")
CUDA_TYPE = 1  # c10::DeviceType::CUDA; the CPU is 0


class Refused(BaseException):
    """What the candidate did is not allowed: a verdict, with its rule. A candidate that
    falls back to torch in `except Exception` does not catch it."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{text} [{rule}]")
        self.rule, self.text = rule, text


class Fake(torch.Tensor):
    """A tensor without data that claims to be on `device`."""

    bare = False  # while torch computes shapes, fake tensors are meta tensors
    memory: Any = None  # memory.Memory of the candidate, of which a process has one

    @staticmethod
    def __new__(cls, meta: torch.Tensor, device: torch.device) -> Fake:
        made = torch.Tensor._make_subclass(
            cls, meta, False, dispatch_device=True, device_for_backend_keys=device
        )
        made._claims = device
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN206
        """Where the recorder does not see the operation by itself, in another thread."""
        if func is torch.ops.prim.device.default:
            return args[0].device
        return Fake.memory.operate(func, types, args, kwargs)

    @property
    def device(self) -> torch.device:
        return META if Fake.bare else self._claims

    @property
    def data(self) -> torch.Tensor:
        return torch.Tensor.data.__get__(self)

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        """Takes the memory of another tensor, and with it the device."""
        if not isinstance(value, Fake):
            value = Fake.memory.adopt(value)
        torch.Tensor.data.__set__(self, value)
        self._claims = value._claims

    @property
    def is_cuda(self) -> bool:
        return self._claims.type == "cuda"

    def get_device(self) -> int:
        return self._claims.index if self._claims.type == "cuda" else -1

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        kind = str(self.dtype)
        return f"tensor(..., device='{self._claims}', size={tuple(self.shape)}, dtype={kind})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def __deepcopy__(self, memo: dict) -> Fake:
        if id(self) not in memo:
            with torch.no_grad():
                made = self.detach().clone()
            if isinstance(self, torch.nn.Parameter):
                made = torch.nn.Parameter(made, self.requires_grad)
            memo[id(self)] = made
        return memo[id(self)]

    # What would read memory asks what is known of it.

    def data_ptr(self) -> int:
        return Fake.memory.address(self)

    def tolist(self) -> Any:
        return Fake.memory.read(self, "tolist").tolist()

    def numpy(self, *, force: bool = False) -> Any:
        return Fake.memory.read(self, "numpy").numpy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return Fake.memory.read(self, "numpy").numpy().astype(dtype or None)

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        return Fake.memory.read(self, "dlpack").__dlpack__()

    def pin_memory(self, device: Any = None) -> Fake:
        return self

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def record_stream(self, stream: Any) -> None:
        return None

    def share_memory_(self) -> Fake:
        return self


def bare(func: Callable, args: tuple, kwargs: dict) -> Any:
    """What `func` makes of shapes and strides: fake tensors count as meta tensors, and
    what is new comes back as a meta tensor."""
    with torch._C._DisableTorchDispatch():
        Fake.bare = True
        torch._C._set_meta_in_tls_dispatch_include(True)
        try:
            return func(*args, **kwargs)
        finally:
            torch._C._set_meta_in_tls_dispatch_include(False)
            Fake.bare = False


def guard_cuda() -> None:
    """Before torch does anything with a CUDA tensor it asks the guard of such devices to
    switch to that one. A build without CUDA has no guard for them, and one with CUDA would
    ask the driver: both get the CPU's, which does nothing."""
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    c10 = ctypes.CDLL(os.path.join(folder, "libc10.so"))
    guards = (ctypes.c_void_p * 2).in_dll(c10, "_ZN3c104impl26device_guard_impl_registryE")
    name = "DeviceGuardImplRegistrarC1ENS_10DeviceTypeEPKNS0_24DeviceGuardImplInterfaceE"
    register = c10[f"_ZN3c104impl24{name}"]
    registrar = ctypes.c_char()  # an object without fields, whose constructor registers
    register(ctypes.byref(registrar), ctypes.c_int8(CUDA_TYPE), ctypes.c_void_p(guards[0]))
