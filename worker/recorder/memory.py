"""The memory that a candidate seems to have: a `Store` for each block of it, and what
is known of its contents.

What was made of literals alone is known: it is computed for real on the CPU, and its bytes
travel with the trace. What depends on inputs, on parameters or on a kernel is not known
("opaque"), and nobody can read it.

Large random fills, and what is made of them, are put off until somebody needs the values.
Most often nobody does: the judge draws a model's parameters itself.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from recorder.fakes import CPU, META, Fake
from shared import structure
from torch.utils._python_dispatch import _disable_current_modes

PUT_OFF = 1 << 18  # elements of a random fill that are worth waiting with
FIRST_ADDRESS = 0x7F0000000000
MOST = 4 << 40  # bytes that a recording may allocate in all, freed or not
ALIGN = 512  # of an address, as CUDA's allocator has it
NO_VALUES = (
    "forward reads the values of a tensor, but a trace is made without values: keep what "
    "depends on data in kernels"
)
RANDOM = frozenset(
    """uniform_ normal_ random_ bernoulli_ exponential_ log_normal_ geometric_ cauchy_
    rand randn randint rand_like randn_like randint_like randperm normal bernoulli
    multinomial""".split()
)


@dataclass(eq=False, slots=True)
class Store:
    """One block of memory. Not opaque and without `real`: it holds `fill` everywhere, or
    has never been written (None)."""

    size: int  # bytes
    dtype: torch.dtype  # of the tensor that it was allocated for
    address: int
    kept: torch.UntypedStorage  # keeps its address its own
    call: int  # in which it was made; 0 is before forward
    opaque: bool = False
    real: torch.UntypedStorage | None = None
    fill: int | float | bool | None = None
    waits: bool = False  # `real` has yet to be computed
    extra: dict[str, Any] = field(default_factory=dict)  # what the recorder notes

    @property
    def count(self) -> int:
        return self.size // self.dtype.itemsize

    def never_written(self) -> bool:
        return not self.opaque and self.real is None and self.fill is None


class Memory:
    def __init__(self, operate: Callable, refuse: Callable[[str, str], Any]) -> None:
        self.operate, self.refuse = operate, refuse  # the recorder's
        self.stores: dict[int, Store] = {}  # by the address of the storage
        self.of_real: dict[int, Store] = {}  # by that of the real one
        self.waiting: list[Callable[[], Any]] = []
        self.next_address = FIRST_ADDRESS
        self.call = 0
        self.capacity: int | None = None  # bytes of the GPU, where there is one
        self.on_gpu: list[Store] = []
        self.held = 0  # bytes of these, at most

    # ---- fake tensors and their stores ----

    def store(self, t: torch.Tensor) -> Store:
        return self.stores[t.untyped_storage()._cdata]

    def fresh(self, meta: torch.Tensor, device: torch.device) -> Fake:
        """A fake tensor in memory of its own."""
        storage = meta.untyped_storage()
        size = storage.nbytes()
        if self.next_address - FIRST_ADDRESS + size > MOST:
            raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size} bytes")
        if device.type == "cuda" and self.capacity is not None:
            self._hold(size)
        made = Store(size, meta.dtype, self.next_address, storage, self.call)
        self.next_address += (size // ALIGN + 1) * ALIGN
        self.stores[storage._cdata] = made
        if device.type == "cuda":
            self.on_gpu.append(made)
        return Fake(meta, device)

    def _hold(self, size: int) -> None:
        """As if the GPU's allocator had to find room. Tensors are counted only where all that were
        ever made would not fit. For honest code: nothing rests on it."""
        self.held += size
        if self.held <= self.capacity:
            return
        self.on_gpu = [s for s in self.on_gpu if torch._C._storage_Use_Count(s.kept._cdata) > 1]
        live = sum(s.size for s in self.on_gpu)
        if live + size > self.capacity:
            raise torch.OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {size} bytes. GPU 0 has a total capacity of "
                f"{self.capacity} bytes, of which {live} are in use by tensors."
            )
        self.held = live + size

    def adopt(self, real: torch.Tensor, device: torch.device = CPU) -> Fake:
        """A tensor that has data, as a fake one whose contents are known."""
        with plainly():
            return self._adopt(real, device)

    def _adopt(self, real: torch.Tensor, device: torch.device) -> Fake:
        storage = real.untyped_storage()
        store = self.of_real.get(storage._cdata)
        # A storage that a store has given up may have left its address to this one.
        if store is None or store.real is None or store.real._cdata != storage._cdata:
            meta = torch.empty(storage.nbytes(), dtype=torch.uint8, device=META)
            self.fresh(meta, device)
            store = self.stores[meta.untyped_storage()._cdata]
            store.dtype = real.dtype
            self._give(store, storage)
        place = torch.empty(0, dtype=real.dtype, device=META)
        place.set_(store.kept, real.storage_offset(), real.shape, real.stride())
        return Fake(place, device)

    def _give(self, store: Store, real: torch.UntypedStorage) -> None:
        store.real, store.fill = real, None
        self.of_real[real._cdata] = store

    def address(self, t: torch.Tensor) -> int:
        store = self.store(t)
        return store.address + t.storage_offset() * t.dtype.itemsize if store.size else 0

    def has_address(self, data: bytes) -> bool:
        """Whether one of these 64-bit numbers lies where tensors do."""
        with plainly():
            numbers = torch.frombuffer(bytearray(data), dtype=torch.int64)
            return bool(((numbers >= FIRST_ADDRESS) & (numbers < self.next_address)).any())

    # ---- contents ----

    def real(self, t: torch.Tensor) -> torch.Tensor:
        """The data of a tensor whose contents are known, possibly yet to be computed."""
        store = self.store(t)
        self._materialise(store)
        place = torch.empty(0, dtype=t.dtype)
        return place.set_(store.real, t.storage_offset(), t.shape, t.stride())

    def fill(self, t: torch.Tensor, value: int | float | bool) -> None:
        """All of the memory of `t` holds this."""
        store = self.store(t)
        store.real, store.waits = None, False
        store.fill = as_dtype(value, store.dtype)

    def _materialise(self, store: Store) -> None:
        if store.real is not None:
            return
        storage = torch.UntypedStorage(store.size)
        if store.fill is not None:
            torch.empty(0, dtype=store.dtype).set_(storage).fill_(store.fill)
        self._give(store, storage)

    def read(self, t: torch.Tensor, how: str) -> torch.Tensor:
        """The same for who needs the values now, also outside of an operation."""
        if self.store(t).opaque:
            self.refuse(f"readback:{how}", NO_VALUES)
        self.compute()
        with plainly():
            return self.real(t)

    def element(self, store: Store, dtype: torch.dtype, offset: int) -> int | float | bool:
        self.compute()
        with plainly():
            return torch.empty(0, dtype=dtype).set_(store.real, offset, (), ()).item()

    def bytes(self, store: Store) -> bytes:
        self.compute()
        with plainly():
            self._materialise(store)
            return torch.empty(0, dtype=torch.uint8).set_(store.real).numpy().tobytes()

    def compute(self) -> None:
        """Does now what was put off, in its order."""
        if not self.waiting:
            return
        waiting, self.waiting = self.waiting, []
        with plainly(), torch.no_grad():
            for step in waiting:
                step()
        for store in self.stores.values():
            store.waits = False

    # ---- operations on what is known ----

    def run(self, func: Any, args: tuple, kwargs: dict, device: torch.device) -> Any:
        """The operation on the data itself; what is new is on `device`."""
        fakes = structure.tensors((args, kwargs))
        pairs = {id(f): self.real(f) for f in fakes}
        real_args = structure.mapped(args, lambda f: pairs[id(f)])
        real_kwargs = on_cpu(structure.mapped(kwargs, lambda f: pairs[id(f)]))
        stores = [self.store(f) for f in fakes]
        random = operation_name(func) in RANDOM and kwargs.get("generator") is None
        if self._may_wait(func, random, real_args, stores):
            out = self._put_off(func, real_args, real_kwargs, stores)
        else:
            if any(s.waits for s in stores) or (self.waiting and random):
                self.compute()
            out = func(*real_args, **real_kwargs)
        return self._back(out, {id(pairs[id(f)]): f for f in fakes}, device)

    def _may_wait(self, func: Any, random: bool, args: tuple, stores: list[Store]) -> bool:
        """A random operation once one has been put off, so that all draw what they would
        have drawn; and what depends on nothing but such values."""
        if len(func._schema.returns) != 1 or str(func._schema.returns[0].type) != "Tensor":
            return False
        if random:
            return bool(self.waiting) or _elements(args) >= PUT_OFF
        return bool(stores) and all(s.waits for s in stores)

    def _put_off(self, func: Any, args: tuple, kwargs: dict, stores: list[Store]) -> Any:
        changed = written(func, args, kwargs)
        if changed:
            self.waiting.append(lambda: func(*args, **kwargs))
            for s in stores:
                s.waits = True
            return changed[0]
        shown = dict(kwargs)
        if "device" in shown or not structure.tensors(args):
            shown["device"] = META
        like = func(*structure.mapped(args, _meta), **structure.mapped(shown, _meta))
        out = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype)
        self.waiting.append(lambda: out.copy_(func(*args, **kwargs)))
        out.put_off = True
        return out

    def _back(self, out: Any, back: dict, device: torch.device) -> Any:
        if isinstance(out, torch.Tensor):
            if id(out) in back:
                return back[id(out)]
            made = self._adopt(out, device)
            self.store(made).waits |= hasattr(out, "put_off")
            return made
        if isinstance(out, (list, tuple)):
            return type(out)(self._back(x, back, device) for x in out)
        return out


def as_dtype(value: Any, dtype: torch.dtype) -> int | float | bool:
    """The number as a tensor of this dtype takes it; torch raises if it cannot. (On a CPU torch takes
    any for a single element.)"""
    with plainly():
        held = torch.full((2,), value, dtype=dtype)
    return float(value) if dtype.is_floating_point else held[0].item()


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """Without the modes that are on while a candidate runs: nothing is recorded, and no
    device is the default."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        yield


def operation_name(func: Any) -> str:
    return func._schema.name.partition("::")[2]


def on_cpu(kwargs: dict) -> dict:
    kept = {k: v for k, v in kwargs.items() if k != "pin_memory"}
    return {**kept, "device": CPU} if kept.get("device") is not None else kept


def written(func: Any, args: tuple, kwargs: dict) -> list[torch.Tensor]:
    """What an operation changes."""
    found = []
    for index, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            found += structure.tensors(value)
    return found


def _elements(args: tuple) -> int:
    """Of what a random operation fills or makes."""
    first = args[0] if args else 0
    if isinstance(first, torch.Tensor):
        return first.numel()
    return math.prod(first) if isinstance(first, (list, tuple)) else 0


def _meta(t: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=META)
