"""Device memory with a descriptor: made by the judge, mapped by an executor.

The driver's virtual memory functions through ctypes: memory is created with an
exportable handle, mapped into each side's address space, and stays the judge's.
Unmapping does not wait for work in flight, so both sides synchronise first.
"""

import ctypes

import torch

_PINNED = 1  # CU_MEM_ALLOCATION_TYPE_PINNED
_POSIX_FD = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
_ON_DEVICE = 1  # CU_MEM_LOCATION_TYPE_DEVICE
_READ_WRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class DriverError(RuntimeError):
    pass


_driver = None


def _driver_call(name: str, *args: object) -> None:
    global _driver
    if _driver is None:
        _driver = ctypes.CDLL("libcuda.so.1")
    code = getattr(_driver, name)(*args)
    if code:
        text = ctypes.c_char_p()
        _driver.cuGetErrorName(code, ctypes.byref(text))
        raise DriverError(f"{name}: {text.value.decode() if text.value else code}")


def _properties() -> _Properties:
    return _Properties(_PINNED, _POSIX_FD, _Location(_ON_DEVICE, 0), None, (ctypes.c_ubyte * 8)())


def _rounded(size: int) -> int:
    unit = ctypes.c_size_t()
    _driver_call("cuMemGetAllocationGranularity", ctypes.byref(unit), ctypes.byref(_properties()), 0)
    return max(1, -(-size // unit.value)) * unit.value


class _Bytes:
    """What torch.as_tensor needs to see memory that torch did not allocate."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3,
            "strides": None,
        }  # fmt: skip


class Mapped:
    """A handle mapped at an address of this process."""

    def __init__(self, handle: ctypes.c_ulonglong, size: int) -> None:
        torch.cuda.current_stream()  # the context exists before the driver is used
        self.handle, self.size = handle, size
        self.address = ctypes.c_ulonglong()
        zero = ctypes.c_ulonglong(0)
        _driver_call("cuMemAddressReserve", ctypes.byref(self.address), ctypes.c_size_t(size),
              ctypes.c_size_t(0), zero, zero)  # fmt: skip
        _driver_call("cuMemMap", self.address, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, zero)
        access = _Access(_Location(_ON_DEVICE, 0), _READ_WRITE)
        _driver_call("cuMemSetAccess", self.address, ctypes.c_size_t(size), ctypes.byref(access),
              ctypes.c_size_t(1))  # fmt: skip
        self.bytes = torch.as_tensor(_Bytes(self.address.value, size), device="cuda:0")

    def close(self) -> None:
        torch.cuda.synchronize()
        self.bytes = None
        _driver_call("cuMemUnmap", self.address, ctypes.c_size_t(self.size))
        _driver_call("cuMemAddressFree", self.address, ctypes.c_size_t(self.size))
        _driver_call("cuMemRelease", self.handle)


def created(size: int) -> tuple[Mapped, int]:
    """At least `size` bytes, and a descriptor with which another process can map them."""
    torch.zeros(1, device="cuda:0")
    size = _rounded(size)
    handle = ctypes.c_ulonglong()
    _driver_call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size),
          ctypes.byref(_properties()), ctypes.c_ulonglong(0))  # fmt: skip
    fd = ctypes.c_int(-1)
    _driver_call("cuMemExportToShareableHandle", ctypes.byref(fd), handle, _POSIX_FD,
          ctypes.c_ulonglong(0))  # fmt: skip
    return Mapped(handle, size), fd.value


def imported(fd: int, size: int) -> torch.Tensor:
    """Another process's region, as bytes."""
    torch.zeros(1, device="cuda:0")
    handle = ctypes.c_ulonglong()
    _driver_call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(fd), _POSIX_FD)
    return Mapped(handle, size).bytes
